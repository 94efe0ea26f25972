<?php

declare(strict_types=1);

namespace Pickupbox;

/** Whether a webhook is of Pickupbox, unchanged and fresh. */
final class Signature
{
    private const TOLERANCE = 300;

    /** The body is what came, byte for byte. */
    public static function holds(string $secret, string $id, string $sentAt, string $signatures, string $body): bool
    {
        $key = base64_decode(substr($secret, strlen('whsec_')), true);
        if (!str_starts_with($secret, 'whsec_') || !$key || !ctype_digit($sentAt)) {
            return false;
        }
        $ours = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$sentAt.$body", $key, true));
        $fits = false;
        foreach (explode(' ', $signatures) as $one) { // two of them while the secret is changed
            $fits = hash_equals($ours, $one) || $fits;
        }

        return $fits && abs(time() - (int) $sentAt) <= self::TOLERANCE;
    }
}
