<?php

declare(strict_types=1);

namespace Pickupbox;

/**
 * What an order knows of its shipment, in hidden meta data. Status and place come from webhooks alone, the PIN from
 * answers alone: so whichever is quicker, neither overwrites the other.
 */
final class Parcel
{
    private const STATE = '_pickupbox_state';
    private const PIN = '_pickupbox_pin';
    private const HANDLED = '_pickupbox_handled';
    private const REMEMBERED = 100;

    private function __construct(private readonly \WC_Order $order)
    {
    }

    public static function of(\WC_Order $order): self
    {
        return new self($order);
    }

    public static function externalId(\WC_Order $order): string
    {
        return 'wc-' . Settings::shopId() . '-' . $order->get_id();
    }

    public static function orderOf(string $externalId): ?\WC_Order
    {
        $prefix = 'wc-' . Settings::shopId() . '-';

        return str_starts_with($externalId, $prefix)
            ? (wc_get_order((int) substr($externalId, strlen($prefix))) ?: null)
            : null;
    }

    public function known(): bool
    {
        return $this->shipmentId() !== '';
    }

    public function shipmentId(): string
    {
        return $this->state('shipment_id') ?: (string) ($this->keptPin()['id'] ?? '');
    }

    public function state(string $name): string
    {
        return (string) (($this->order->get_meta(self::STATE) ?: [])[$name] ?? '');
    }

    /** @param array<string, mixed> $shipment as `reserve` and `retry` return it */
    public function keepPin(array $shipment): void
    {
        $this->order->update_meta_data(self::PIN, ['id' => $shipment['id'], 'pin' => $shipment['pickup_pin']]);
        $this->order->save();
    }

    /** The PIN of the present shipment, if it is kept. */
    public function pin(): ?string
    {
        $kept = $this->keptPin();

        return $kept && $kept['id'] === $this->state('shipment_id') ? $kept['pin'] : null;
    }

    /** @param array<string, mixed> $event */
    public function hasHandled(array $event): bool
    {
        return in_array($event['id'], $this->order->get_meta(self::HANDLED) ?: [], true);
    }

    /** @param array<string, mixed> $event */
    public function isNews(array $event): bool
    {
        $known = [(int) $this->state('attempt'), $this->state('told_at')];

        return [(int) $event['data']['attempt_number'], self::momentOf($event)] >= $known;
    }

    /** @param array<string, mixed> $event */
    public function update(array $event): void
    {
        $this->order->update_meta_data(self::STATE, [
            'shipment_id' => $event['data']['shipment_id'],
            'attempt' => $event['data']['attempt_number'],
            'status' => $event['data']['status'],
            'box' => $event['data']['box_name'],
            'compartment' => $event['data']['compartment_code'],
            'told_at' => self::momentOf($event),
        ]);
        if (!in_array($event['data']['status'], ['reserved', 'loaded'], true) && $this->pin() !== null) {
            $this->order->delete_meta_data(self::PIN); // it opens nothing any more
        }
    }

    /** @param array<string, mixed> $event */
    public function remember(array $event): void
    {
        $handled = [...($this->order->get_meta(self::HANDLED) ?: []), $event['id']];
        $this->order->update_meta_data(self::HANDLED, array_slice($handled, -self::REMEMBERED));
        $this->order->save();
    }

    /** @return array{id: string, pin: string}|array{} */
    private function keptPin(): array
    {
        return $this->order->get_meta(self::PIN) ?: [];
    }

    /** @param array<string, mixed> $event */
    private static function momentOf(array $event): string
    {
        return (new \DateTimeImmutable($event['occurred_at']))->format('Y-m-d H:i:s.u');
    }
}
