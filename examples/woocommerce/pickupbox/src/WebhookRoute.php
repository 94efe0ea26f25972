<?php

declare(strict_types=1);

namespace Pickupbox;

/** Where webhooks arrive: /wp-json/pickupbox/v1/webhooks */
final class WebhookRoute
{
    public static function register(): void
    {
        register_rest_route('pickupbox/v1', '/webhooks', [
            'methods' => 'POST',
            'permission_callback' => [self::class, 'isSigned'],
            'callback' => [self::class, 'take'],
        ]);
    }

    public static function isSigned(\WP_REST_Request $request): bool|\WP_Error
    {
        $header = static fn (string $name): string => (string) $request->get_header($name);
        $signed = Signature::holds(
            Settings::get('webhook_secret'),
            $header('Service-Event-Id'),
            $header('Service-Timestamp'),
            $header('Service-Signature'),
            $request->get_body(),
        );

        return $signed ?: new \WP_Error('pickupbox_signature', 'The signature does not hold.', ['status' => 400]);
    }

    /** What is not answered with 200 comes again. */
    public static function take(\WP_REST_Request $request): \WP_REST_Response
    {
        try {
            Events::take(json_decode($request->get_body(), true, 16, JSON_THROW_ON_ERROR));
        } catch (TryLater | Refused $problem) {
            return new \WP_REST_Response(['message' => $problem->getMessage()], 503);
        }

        return new \WP_REST_Response(['taken' => true]);
    }
}
