<?php

declare(strict_types=1);

namespace Pickupbox;

/** The calls of Pickupbox that a shop needs. Each but `boxes` may be repeated: it has one effect. */
final class Client
{
    private const TIMEOUT = 10;
    // A refusal that another try may not meet.
    private const PASSING = ['no_compartment_available', 'compartment_not_released'];

    public function __construct(private readonly string $baseUrl, private readonly string $apiKey)
    {
    }

    /** @return list<array{id: string, name: string, location_name: ?string, address: ?string}> */
    public function boxes(): array
    {
        return $this->call('GET', '/boxes')['items'];
    }

    /** @return array<string, mixed> the shipment, with its PIN */
    public function reserve(string $boxId, string $orderId, string $customer): array
    {
        $body = ['box_id' => $boxId, 'external_order_id' => $orderId, 'customer_name' => mb_substr($customer, 0, 160)];

        return $this->call('POST', '/shipments', $body);
    }

    /** @return array<string, mixed> the new shipment, with its PIN */
    public function retry(string $shipmentId): array
    {
        return $this->call('POST', '/shipments/' . rawurlencode($shipmentId) . '/retry');
    }

    public function cancel(string $shipmentId): void
    {
        $this->call('POST', '/shipments/' . rawurlencode($shipmentId) . '/cancel');
    }

    /** The PIN again; the service writes down that we asked. */
    public function pin(string $shipmentId): string
    {
        return $this->call('GET', '/shipments/' . rawurlencode($shipmentId) . '/pickup-pin')['pickup_pin'];
    }

    /**
     * @param array<string, mixed>|null $body
     * @return array<string, mixed>
     */
    private function call(string $method, string $path, ?array $body = null): array
    {
        $answer = wp_remote_request(rtrim($this->baseUrl, '/') . $path, [
            'method' => $method,
            'timeout' => self::TIMEOUT,
            'redirection' => 0,
            'headers' => ['Authorization' => 'Bearer ' . $this->apiKey, 'Content-Type' => 'application/json'],
            'body' => $body === null ? null : wp_json_encode($body),
        ]);
        if (is_wp_error($answer)) {
            throw new TryLater($answer->get_error_message());
        }
        $status = (int) wp_remote_retrieve_response_code($answer);
        $told = json_decode(wp_remote_retrieve_body($answer), true);
        if ($status >= 200 && $status < 300 && is_array($told)) {
            return $told;
        }
        $code = $told['error']['code'] ?? "http_$status";
        $message = $told['error']['message'] ?? "$method $path was answered with $status.";
        if ($status === 429 || $status >= 500 || in_array($code, self::PASSING, true)) {
            throw new TryLater($message, (int) wp_remote_retrieve_header($answer, 'retry-after'));
        }
        throw new Refused($code, $message);
    }
}
