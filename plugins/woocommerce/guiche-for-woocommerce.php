<?php

/**
 * Plugin Name: Guichê: Pix for WooCommerce
 * Description: Pix through your own Guichê: QR code and copy-and-paste code, orders paid automatically, refunds from the order page.
 * Version: 0.1.0
 * Requires at least: 6.3
 * Requires PHP: 8.1
 * Requires Plugins: woocommerce
 * WC requires at least: 8.0
 * License: Apache-2.0
 * Text Domain: guiche-for-woocommerce
 * Domain Path: /languages
 */

declare(strict_types=1);

use Guiche\WooCommerce\Plugin;

defined('ABSPATH') || exit;

// The packaged plugin has the SDK inside; in the repository it is beside it.
require is_file(__DIR__ . '/sdk/autoload.php') ? __DIR__ . '/sdk/autoload.php' : __DIR__ . '/../../sdk-php/autoload.php';

spl_autoload_register(static function (string $class): void {
    $prefix = 'Guiche\\WooCommerce\\';
    if (str_starts_with($class, $prefix) && is_file($file = __DIR__ . '/includes/' . substr($class, strlen($prefix)) . '.php')) {
        require $file;
    }
});

Plugin::register(__FILE__);
