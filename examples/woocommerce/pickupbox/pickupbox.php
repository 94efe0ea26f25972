<?php

/**
 * Plugin Name: Pickupbox for WooCommerce
 * Description: Customers collect their orders at pickup boxes: choice of box at checkout, reservation when the order is paid, PIN by mail when the parcel is inside.
 * Version: 0.1.0
 * Requires at least: 6.1
 * Requires PHP: 8.1
 * Requires Plugins: woocommerce
 * WC requires at least: 8.0
 * License: Apache-2.0
 * Text Domain: pickupbox
 */

declare(strict_types=1);

namespace Pickupbox;

defined('ABSPATH') || exit;

spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, __NAMESPACE__ . '\\')) {
        require __DIR__ . '/src/' . substr($class, strlen(__NAMESPACE__) + 1) . '.php';
    }
});

// Offer the boxes.
add_filter('woocommerce_shipping_methods', static fn (array $methods): array => $methods + ['pickupbox' => ShippingMethod::class]);

// Reserve when the order is paid, cancel when it is cancelled: in the background, so that nobody waits for us.
add_action('woocommerce_order_status_processing', static fn (int $id) => Tasks::soon('reserve', wc_get_order($id)));
add_action('woocommerce_order_status_cancelled', static fn (int $id) => Tasks::soon('cancel', wc_get_order($id)));
add_action('woocommerce_order_status_refunded', static fn (int $id) => Tasks::soon('cancel', wc_get_order($id)));
add_action(Tasks::HOOK, [Tasks::class, 'run'], 10, 3);

// Be told.
add_action('rest_api_init', [WebhookRoute::class, 'register']);

// Show it: to the customer, to the shop's people, and to who sets it up.
add_action('woocommerce_order_details_before_order_table', [OrderPage::class, 'forCustomer']);
add_action('woocommerce_admin_order_data_after_shipping_address', [OrderPage::class, 'forStaff']);
add_action('admin_init', [SettingsPage::class, 'register']);
add_action('admin_menu', [SettingsPage::class, 'menu']);

// Orders may be in WooCommerce's own tables: we only use its methods.
add_action('before_woocommerce_init', static function (): void {
    if (class_exists(\Automattic\WooCommerce\Utilities\FeaturesUtil::class)) {
        \Automattic\WooCommerce\Utilities\FeaturesUtil::declare_compatibility('custom_order_tables', __FILE__);
    }
});
