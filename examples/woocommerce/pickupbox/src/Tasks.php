<?php

declare(strict_types=1);

namespace Pickupbox;

/** What is asked of Pickupbox, in the background by WooCommerce's Action Scheduler, again and again until it goes. */
final class Tasks
{
    public const HOOK = 'pickupbox_task';
    private const FIRST_WAIT = 30;
    private const LONGEST_WAIT = HOUR_IN_SECONDS;
    private const TRIES = 30; // about a day

    public static function soon(string $task, \WC_Order $order, int $tries = 0, int $wait = 0): void
    {
        if (ShippingMethod::boxOf($order)) {
            as_schedule_single_action(time() + $wait, self::HOOK, [$task, $order->get_id(), $tries], 'pickupbox');
        }
    }

    public static function run(string $task, int $orderId, int $tries): void
    {
        $order = wc_get_order($orderId);
        if (!$order) {
            return;
        }
        try {
            match ($task) {
                'reserve' => self::reserve($order),
                'retry' => self::retry($order),
                'cancel' => self::cancel($order),
            };
        } catch (TryLater $later) {
            self::again($task, $order, $tries, $later);
        } catch (Refused $refused) {
            $order->add_order_note(self::problem($task, $refused));
        }
    }

    private static function reserve(\WC_Order $order): void
    {
        $parcel = Parcel::of($order);
        $box = ShippingMethod::boxOf($order);
        if ($box === null || $parcel->known() || !$order->has_status('processing')) {
            return; // it is done, or no longer wanted
        }
        $customer = $order->get_formatted_billing_full_name();
        $parcel->keepPin(Settings::client()->reserve($box, Parcel::externalId($order), $customer));
    }

    private static function retry(\WC_Order $order): void
    {
        $parcel = Parcel::of($order);
        if ($parcel->state('status') === 'fault' && !$order->has_status(['cancelled', 'refunded'])) {
            $parcel->keepPin(Settings::client()->retry($parcel->shipmentId()));
        }
    }

    private static function cancel(\WC_Order $order): void
    {
        $parcel = Parcel::of($order);
        if ($parcel->known()) {
            Settings::client()->cancel($parcel->shipmentId());
        }
    }

    /** Wait longer each time, at least as long as the service asks for. */
    private static function again(string $task, \WC_Order $order, int $tries, TryLater $later): void
    {
        if ($tries >= self::TRIES) {
            $hope = __('Given up. Set the order to its status anew to try again.', 'pickupbox');
            $order->add_order_note(self::problem($task, $later) . ' ' . $hope);
            return;
        }
        if ($tries === 0) {
            $order->add_order_note(self::problem($task, $later) . ' ' . __('It is tried again.', 'pickupbox'));
        }
        $wait = min(self::LONGEST_WAIT, self::FIRST_WAIT * 2 ** min($tries, 10));
        self::soon($task, $order, $tries + 1, max($wait, $later->seconds));
    }

    private static function problem(string $task, \RuntimeException $problem): string
    {
        /* translators: 1: reserve, retry or cancel 2: what the service said */
        return sprintf(__('Pickup box, %1$s: %2$s', 'pickupbox'), $task, $problem->getMessage());
    }
}
