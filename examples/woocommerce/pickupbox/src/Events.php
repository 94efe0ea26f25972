<?php

declare(strict_types=1);

namespace Pickupbox;

/** What an event means for an order. The same event may come twice, and counts once. */
final class Events
{
    private const WAIT_FOR_LOCK = 5;

    /** @param array<string, mixed> $event */
    public static function take(array $event): void
    {
        global $wpdb;
        $lock = 'pickupbox-' . md5($event['data']['external_order_id']);
        if (!$wpdb->get_var($wpdb->prepare('SELECT GET_LOCK(%s, %d)', $lock, self::WAIT_FOR_LOCK))) {
            throw new TryLater('Another event of this order is being handled.');
        }
        try {
            $order = Parcel::orderOf($event['data']['external_order_id']);
            if ($order && !Parcel::of($order)->hasHandled($event)) {
                self::handle($order, $event);
                Parcel::of($order)->remember($event);
            }
        } finally {
            $wpdb->query($wpdb->prepare('SELECT RELEASE_LOCK(%s)', $lock));
        }
    }

    /** @param array<string, mixed> $event */
    private static function handle(\WC_Order $order, array $event): void
    {
        $parcel = Parcel::of($order);
        if (!$parcel->isNews($event)) {
            return;
        }
        $parcel->update($event);
        ['status' => $status, 'box_name' => $box, 'compartment_code' => $code] = $event['data'];
        switch ($event['type']) {
            case 'reserved':
                /* translators: 1: compartment 2: box */
                $note = sprintf(__('Compartment %1$s at %2$s is reserved.', 'pickupbox'), $code, $box);
                self::move($order, 'processing', $note);
                if ($order->has_status(['cancelled', 'refunded'])) {
                    Tasks::soon('cancel', $order); // it was cancelled while we reserved
                }
                break;
            case 'loaded':
                if ($parcel->pin() === null) { // the answer that carried it was lost
                    $id = $event['data']['shipment_id'];
                    $parcel->keepPin(['id' => $id, 'pickup_pin' => Settings::client()->pin($id)]);
                }
                // WooCommerce mails a customer's note to the customer.
                $order->add_order_note(self::ready($box, $code, (string) $parcel->pin()), 1);
                break;
            case 'picked_up':
                self::move($order, 'completed', __('The customer has collected it.', 'pickupbox'));
                break;
            case 'cancelled':
                $order->add_order_note(__('The reservation at the pickup box is cancelled.', 'pickupbox'));
                break;
            case 'expired':
                self::move($order, 'on-hold', __('The time at the pickup box ran out.', 'pickupbox'));
                break;
            case 'fault':
                self::move($order, 'on-hold', __('Something went wrong at the pickup box.', 'pickupbox'));
                break;
            case 'door_available':
                if ($status === 'fault') {
                    Tasks::soon('retry', $order);
                }
                break;
        }
    }

    /** Give the order a status, unless the shop has ended it. */
    private static function move(\WC_Order $order, string $status, string $note): void
    {
        if ($order->has_status([$status, 'cancelled', 'refunded', 'completed'])) {
            $order->add_order_note($note);
        } else {
            $order->update_status($status, $note);
        }
    }

    private static function ready(string $box, string $code, string $pin): string
    {
        /* translators: 1: box 2: compartment 3: PIN */
        $text = __('Your parcel is ready at %1$s. Type the PIN %3$s, and compartment %2$s opens.', 'pickupbox');

        return sprintf($text, $box, $code, $pin);
    }
}
