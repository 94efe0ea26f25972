<?php

declare(strict_types=1);

namespace Pickupbox;

/** Box, compartment and PIN on WooCommerce's own pages of an order. */
final class OrderPage
{
    /** The customer sees the PIN when the parcel is inside, and not before. */
    public static function forCustomer(\WC_Order $order): void
    {
        $parcel = Parcel::of($order);
        if ($parcel->state('status') !== 'loaded' || $parcel->pin() === null) {
            return;
        }
        printf(
            '<section class="pickupbox"><h2>%s</h2><p>%s<br>%s<br>%s</p></section>',
            esc_html__('Your parcel is ready', 'pickupbox'),
            esc_html($parcel->state('box')),
            /* translators: %s: compartment */
            esc_html(sprintf(__('Compartment %s', 'pickupbox'), $parcel->state('compartment'))),
            /* translators: %s: PIN */
            esc_html(sprintf(__('PIN %s', 'pickupbox'), $parcel->pin())),
        );
    }

    /** Who packs needs the PIN to load the compartment. */
    public static function forStaff(\WC_Order $order): void
    {
        $parcel = Parcel::of($order);
        if (!$parcel->known() || !current_user_can('edit_shop_orders')) {
            return;
        }
        printf(
            '<h3>%s</h3><p>%s, %s: %s</p>',
            esc_html__('Pickup box', 'pickupbox'),
            esc_html($parcel->state('box')),
            esc_html($parcel->state('compartment')),
            esc_html($parcel->state('status')),
        );
        if ($parcel->pin() !== null) {
            /* translators: %s: PIN */
            printf('<p>%s</p>', esc_html(sprintf(__('PIN to load: %s', 'pickupbox'), $parcel->pin())));
        }
    }
}
