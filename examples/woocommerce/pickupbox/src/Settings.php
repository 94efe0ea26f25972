<?php

declare(strict_types=1);

namespace Pickupbox;

/** What was entered on the settings page. */
final class Settings
{
    public const OPTION = 'pickupbox';

    public static function get(string $name): string
    {
        return (string) (get_option(self::OPTION, [])[$name] ?? '');
    }

    public static function client(): Client
    {
        return new Client(self::get('base_url'), self::get('api_key'));
    }

    /** Distinguishes this shop's orders from those of every other shop, also from its own before a new installation. */
    public static function shopId(): string
    {
        add_option('pickupbox_shop_id', bin2hex(random_bytes(4)));

        return (string) get_option('pickupbox_shop_id');
    }
}
