<?php

/** WordPress for tests: its own MariaDB, its own mail server, every notice in a file. */

define('DB_NAME', 'wordpress');
define('DB_USER', getenv('USER') ?: 'root');
define('DB_PASSWORD', '');
define('DB_HOST', 'localhost:' . __DIR__ . '/mariadb.sock');
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
$table_prefix = 'wp_';

define('WP_HOME', 'http://127.0.0.1:' . getenv('SHOP_PORT'));
define('WP_SITEURL', WP_HOME);
define('DISABLE_WP_CRON', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('WP_ACCESSIBLE_HOSTS', '127.0.0.1');
define('AUTOMATIC_UPDATER_DISABLED', true);
define('WP_DEBUG', true);
define('WP_DEBUG_LOG', __DIR__ . '/debug.log');
define('WP_DEBUG_DISPLAY', false);

defined('ABSPATH') || define('ABSPATH', __DIR__ . '/');
require ABSPATH . 'wp-settings.php';

add_action('phpmailer_init', function ($mailer) {
    $mailer->isSMTP();
    $mailer->Host = '127.0.0.1';
    $mailer->Port = (int) getenv('MAIL_PORT');
    $mailer->SMTPAutoTLS = false;
});
add_filter('wp_mail_from', fn () => 'shop@shop.test');
