<?php

/** What tests do in the shop, on the command line: php shop.php WORDPRESS COMMAND [ARGUMENT …]; answers in JSON. */

[, $wordpress, $command] = $argv;
$arguments = array_slice($argv, 3);
if ($command === 'install') {
    define('WP_INSTALLING', true);
}
$_SERVER['HTTP_HOST'] = $_SERVER['SERVER_NAME'] = '127.0.0.1';
require "$wordpress/wp-load.php";

/** Set WordPress up, with both plugins, an administrator, and somebody who may only read. */
function install(string $password): void
{
    require ABSPATH . 'wp-admin/includes/upgrade.php';
    wp_install('Leaf & Letter', 'admin', 'admin@shop.test', false, '', $password);
    wp_insert_user(['user_login' => 'reader', 'user_pass' => $password, 'role' => 'subscriber']);
    foreach (['manage_woocommerce', 'edit_shop_orders'] as $capability) {
        get_role('administrator')->add_cap($capability);
    }
    update_option('permalink_structure', '/%postname%/');
    update_option('active_plugins', ['pickupbox/pickupbox.php', 'woocommerce/woocommerce.php']);
}

/** The rates that the checkout would offer. */
function rates(): array
{
    $class = apply_filters('woocommerce_shipping_methods', [])['pickupbox'];
    $method = new $class(3);
    $method->calculate_shipping();

    return array_values($method->rates);
}

/** An order that goes to the box of that name, not paid yet. */
function order(string $box): int
{
    $rate = current(array_filter(rates(), fn ($rate) => str_contains($rate['label'], $box)));
    $id = wp_insert_post(['post_type' => 'shop_order', 'post_status' => 'wc-pending', 'post_title' => 'Order']);
    add_post_meta($id, '_billing_name', 'Ada');
    add_post_meta($id, '_billing_email', "ada-$id@customer.test");
    add_post_meta($id, '_shipping', $rate ? ['pickupbox', $rate['meta_data']] : ['flat_rate', []]);

    return $id;
}

function status(int $id, string $status): void
{
    wc_get_order($id)->update_status($status);
}

/** Let the background work happen that is due, as if it were some seconds later. */
function work(int $later = 0): int
{
    $actions = get_option(ACTIONS, []);
    $due = array_filter($actions, fn ($action) => $action[0] <= time() + $later);
    update_option(ACTIONS, array_values(array_diff_key($actions, $due)));
    array_map(fn ($action) => do_action_ref_array($action[1], $action[2]), $due);

    return count($due);
}

function show(int $id): array
{
    $order = wc_get_order($id);
    ob_start();
    do_action('woocommerce_order_details_before_order_table', $order);
    $customer = ob_get_clean();
    wp_set_current_user(1);
    ob_start();
    do_action('woocommerce_admin_order_data_after_shipping_address', $order);

    return [
        'status' => $order->get_status(),
        'external_id' => Pickupbox\Parcel::externalId($order),
        'notes' => array_column(get_comments(['post_id' => $id, 'order' => 'ASC', 'type' => 'order_note']), 'comment_content'),
        'customer_sees' => $customer,
        'staff_sees' => ob_get_clean(),
        'meta' => wp_json_encode(get_post_meta($id)),
        'waits' => array_map(fn ($action) => $action[0] - time(), get_option(ACTIONS, [])),
    ];
}

/** As if the answer that carried the PIN had been lost. */
function forget_pin(int $id): void
{
    delete_post_meta($id, '_pickupbox_pin');
}

function settings(string $json): void
{
    update_option('pickupbox', json_decode($json, true));
    delete_transient('pickupbox_boxes');
}

echo wp_json_encode($command(...$arguments));
