<?php

declare(strict_types=1);

namespace Pickupbox;

/** The service said no, and why. */
final class Refused extends \RuntimeException
{
    public function __construct(public readonly string $errorCode, string $message)
    {
        parent::__construct($message);
    }
}
