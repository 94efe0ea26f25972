<?php

declare(strict_types=1);

namespace Pickupbox;

/** It did not go well now, and may later. */
final class TryLater extends \RuntimeException
{
    public function __construct(string $message, public readonly int $seconds = 0)
    {
        parent::__construct($message);
    }
}
