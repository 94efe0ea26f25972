<?php

/**
 * Plugin Name: WooCommerce, a stand-in for tests
 *
 * NOT WooCommerce, which none of our package sources carries: only what examples/woocommerce calls of it, with the same
 * names, arguments and hooks, on a real WordPress. An order is a post with meta data, as in WooCommerce's older storage.
 */

define('ACTIONS', 'stand_in_actions');

class WC_Order
{
    private array $meta = [];
    private array $changed = [];
    private string $status;
    private ?string $from = null;

    public function __construct(private int $id)
    {
        $this->status = substr(get_post_status($id), 3);
    }

    public function get_id()
    {
        return $this->id;
    }

    public function get_status()
    {
        return $this->status;
    }

    public function has_status($status)
    {
        return in_array($this->status, (array) $status, true);
    }

    public function get_formatted_billing_full_name()
    {
        return get_post_meta($this->id, '_billing_name', true);
    }

    public function get_shipping_methods()
    {
        return array_map(fn ($item) => new WC_Order_Item_Shipping(...$item), get_post_meta($this->id, '_shipping'));
    }

    public function get_meta($key)
    {
        return array_key_exists($key, $this->changed) ? $this->changed[$key] ?? '' : get_post_meta($this->id, $key, true);
    }

    public function update_meta_data($key, $value)
    {
        $this->changed[$key] = $value;
    }

    public function delete_meta_data($key)
    {
        $this->changed[$key] = null;
    }

    public function update_status($status, $note = '')
    {
        $this->from = $this->status;
        $this->status = $status;
        $this->save();
        if ($note) {
            $this->add_order_note($note);
        }
        return true;
    }

    public function save()
    {
        foreach ($this->changed as $key => $value) {
            $value === null ? delete_post_meta($this->id, $key) : update_post_meta($this->id, $key, $value);
        }
        $this->changed = [];
        if ($this->from !== null && $this->from !== $this->status) {
            wp_update_post(['ID' => $this->id, 'post_status' => 'wc-' . $this->status]);
            $this->from = null;
            do_action('woocommerce_order_status_' . $this->status, $this->id, $this);
        }
        return $this->id;
    }

    public function add_order_note($note, $is_customer_note = 0)
    {
        wp_insert_comment(['comment_post_ID' => $this->id, 'comment_content' => $note, 'comment_type' => 'order_note']);
        if ($is_customer_note) {
            wp_mail(get_post_meta($this->id, '_billing_email', true), 'A note has been added to your order', $note);
        }
    }
}

class WC_Order_Item_Shipping
{
    public function __construct(private string $method, private array $meta)
    {
    }

    public function get_method_id()
    {
        return $this->method;
    }

    public function get_meta($key)
    {
        return $this->meta[$key] ?? '';
    }
}

abstract class WC_Shipping_Method
{
    public $id = '';
    public $title;
    public $method_title = '';
    public $method_description = '';
    public $supports = ['settings'];
    public $instance_form_fields = [];
    public $rates = [];
    public $instance_id;

    public function __construct($instance_id = 0)
    {
        $this->instance_id = absint($instance_id);
    }

    public function get_option($key)
    {
        return $this->instance_form_fields[$key]['default'];
    }

    public function get_rate_id($suffix = '')
    {
        return implode(':', array_filter([$this->id, $this->instance_id, $suffix]));
    }

    public function add_rate($rate = [])
    {
        $this->rates[$rate['id']] = $rate;
    }

    public function calculate_shipping($package = [])
    {
    }
}

function wc_get_order($id)
{
    return get_post_type($id) === 'shop_order' ? new WC_Order((int) $id) : false;
}

function wc_get_logger()
{
    return new class {
        public function error($message, $context = [])
        {
            error_log("{$context['source']} said: $message");
        }
    };
}

function as_schedule_single_action($timestamp, $hook, $args = [], $group = '')
{
    update_option(ACTIONS, [...get_option(ACTIONS, []), [$timestamp, $hook, $args]]);
}

add_action('init', function () {
    register_post_type('shop_order');
    foreach (['pending', 'processing', 'on-hold', 'completed', 'cancelled', 'refunded'] as $status) {
        register_post_status("wc-$status");
    }
});

add_action('admin_menu', fn () => add_menu_page('WooCommerce', 'WooCommerce', 'manage_woocommerce', 'woocommerce'), 9);
