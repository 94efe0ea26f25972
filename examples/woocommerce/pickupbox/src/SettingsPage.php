<?php

declare(strict_types=1);

namespace Pickupbox;

/** WooCommerce → Pickupbox. WordPress checks the form's nonce and who may save it. */
final class SettingsPage
{
    private const PAGE = 'pickupbox';
    private const MAY = 'manage_woocommerce';

    public static function register(): void
    {
        register_setting(self::PAGE, Settings::OPTION, ['type' => 'array', 'sanitize_callback' => [self::class, 'clean']]);
        add_filter('option_page_capability_' . self::PAGE, static fn (): string => self::MAY);
    }

    public static function menu(): void
    {
        add_submenu_page('woocommerce', 'Pickupbox', 'Pickupbox', self::MAY, self::PAGE, [self::class, 'show']);
    }

    /**
     * A secret that is left empty stays as it was.
     *
     * @param mixed $entered
     * @return array<string, string>
     */
    public static function clean($entered): array
    {
        $entered = array_map('trim', array_filter((array) $entered, 'is_string'));
        delete_transient('pickupbox_boxes');

        return [
            'base_url' => esc_url_raw($entered['base_url'] ?? '', ['http', 'https']),
            'api_key' => ($entered['api_key'] ?? '') ?: Settings::get('api_key'),
            'webhook_secret' => ($entered['webhook_secret'] ?? '') ?: Settings::get('webhook_secret'),
        ];
    }

    public static function show(): void
    {
        if (!current_user_can(self::MAY)) {
            return;
        }
        ?>
        <div class="wrap">
            <h1>Pickupbox</h1>
            <?php settings_errors(); ?>
            <p><?php echo esc_html(self::connection()); ?></p>
            <form method="post" action="options.php">
                <?php settings_fields(self::PAGE); ?>
                <table class="form-table" role="presentation">
                    <?php
                    self::field('base_url', __('Base address', 'pickupbox'), 'url', Settings::get('base_url'));
                    self::field('api_key', __('API key', 'pickupbox'), 'password');
                    self::field('webhook_secret', __('Webhook secret', 'pickupbox'), 'password');
                    ?>
                    <tr>
                        <th scope="row"><?php esc_html_e('Webhook address', 'pickupbox'); ?></th>
                        <td>
                            <code><?php echo esc_html(rest_url('pickupbox/v1/webhooks')); ?></code>
                            <p class="description">
                                <?php esc_html_e('Add this endpoint at Pickupbox: it shows the secret.', 'pickupbox'); ?>
                            </p>
                        </td>
                    </tr>
                </table>
                <?php submit_button(); ?>
            </form>
        </div>
        <?php
    }

    /** A secret is never written into the page. */
    private static function field(string $name, string $label, string $type, string $value = ''): void
    {
        $kept = $type === 'password' && Settings::get($name) !== '' ? __('Saved. Leave empty to keep it.', 'pickupbox') : '';
        printf(
            '<tr><th scope="row"><label for="%1$s">%2$s</label></th><td>'
            . '<input id="%1$s" name="%3$s[%1$s]" type="%4$s" value="%5$s" placeholder="%6$s" class="regular-text"'
            . ' autocomplete="new-password"></td></tr>',
            esc_attr($name),
            esc_html($label),
            esc_attr(Settings::OPTION),
            esc_attr($type),
            esc_attr($value),
            esc_attr($kept),
        );
    }

    private static function connection(): string
    {
        if (Settings::get('base_url') === '' || Settings::get('api_key') === '') {
            return __('Not connected yet.', 'pickupbox');
        }
        try {
            /* translators: %d: number of boxes */
            return sprintf(__('Connected. Boxes: %d.', 'pickupbox'), count(Settings::client()->boxes()));
        } catch (TryLater | Refused $problem) {
            /* translators: %s: what the service said */
            return sprintf(__('Not connected: %s', 'pickupbox'), $problem->getMessage());
        }
    }
}
