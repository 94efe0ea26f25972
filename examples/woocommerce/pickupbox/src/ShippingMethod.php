<?php

declare(strict_types=1);

namespace Pickupbox;

/**
 * One shipping rate for each box: so the choice of a box needs no field of its own, and works in every checkout,
 * classic or with blocks. WooCommerce carries the rate's meta data over to the order.
 */
final class ShippingMethod extends \WC_Shipping_Method
{
    public const ID = 'pickupbox';
    public const BOX = '_pickupbox_box_id';
    private const REMEMBERED = 5 * MINUTE_IN_SECONDS;

    public function __construct($instance_id = 0)
    {
        parent::__construct($instance_id);
        $this->id = self::ID;
        $this->method_title = __('Pickup box', 'pickupbox');
        $this->method_description = __('Customers collect the order at a pickup box of their choice.', 'pickupbox');
        $this->supports = ['shipping-zones', 'instance-settings', 'instance-settings-modal'];
        $this->instance_form_fields = [
            'cost' => ['title' => __('Cost', 'pickupbox'), 'type' => 'price', 'default' => '0'],
        ];
        $this->title = $this->method_title;
    }

    public function calculate_shipping($package = [])
    {
        foreach (self::boxes() as $box) {
            $this->add_rate([
                'id' => $this->get_rate_id($box['id']),
                'label' => implode(', ', array_filter([$this->title . ': ' . $box['name'], $box['location_name']])),
                'cost' => $this->get_option('cost'),
                'meta_data' => [self::BOX => $box['id']],
            ]);
        }
    }

    /** The box that was chosen for an order, or null if it goes another way. */
    public static function boxOf(\WC_Order $order): ?string
    {
        foreach ($order->get_shipping_methods() as $item) {
            if ($item->get_method_id() === self::ID) {
                return $item->get_meta(self::BOX) ?: null;
            }
        }

        return null;
    }

    /** @return list<array<string, ?string>> none while the service does not answer */
    private static function boxes(): array
    {
        $boxes = get_transient('pickupbox_boxes');
        if (!is_array($boxes)) {
            try {
                $boxes = Settings::client()->boxes();
            } catch (TryLater | Refused $problem) {
                wc_get_logger()->error('No boxes: ' . $problem->getMessage(), ['source' => 'pickupbox']);

                return [];
            }
            set_transient('pickupbox_boxes', $boxes, self::REMEMBERED);
        }

        return $boxes;
    }
}
