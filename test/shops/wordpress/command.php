<?php

/** What a test does in WordPress without a browser: `php command.php <folder> <action> [values …]`. It prints JSON. */

declare(strict_types=1);

// Constants: WordPress has global variables of its own.
define('ACTION', $argv[2]);
define('VALUES', array_slice($argv, 3));
$_SERVER['HTTP_HOST'] = (string) parse_url((string) getenv('SHOP_URL'), PHP_URL_HOST) . ':' . parse_url((string) getenv('SHOP_URL'), PHP_URL_PORT);
$_SERVER['REQUEST_URI'] = '/';
if (ACTION === 'install') {
    define('WP_INSTALLING', true);
}
require "$argv[1]/wp-load.php";
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
require_once ABSPATH . 'wp-admin/includes/plugin.php';

function describeOrder(int $id): array
{
    $order = wc_get_order($id);
    $notes = array_map(static fn ($note): string => $note->content, wc_get_order_notes(['order_id' => $id, 'order' => 'ASC']));
    return [
        'status' => $order->get_status(),
        'transactionId' => $order->get_transaction_id(),
        'refunded' => (string) $order->get_total_refunded(),
        'refunds' => count($order->get_refunds()),
        'uri' => (string) $order->get_meta('_guiche_uri'),
        'transactions' => array_keys(\Guiche\WooCommerce\Charges::transactionsOf($order)),
        'payUrl' => $order->get_checkout_payment_url(),
        'notes' => array_values($notes),
    ];
}

echo json_encode(match (ACTION) {
    'install' => wp_install('Loja', 'admin', 'admin@example.com', false, '', 'admin'),
    'activate' => array_map(static fn (string $plugin): bool => activate_plugin($plugin) === null, ['woocommerce/woocommerce.php', 'guiche-for-woocommerce/guiche-for-woocommerce.php']),
    'setUp' => (static function (): array {
        WC_Install::create_pages();
        foreach (json_decode(VALUES[0], true) as $name => $value) {
            update_option($name, $value);
        }
        flush_rewrite_rules();
        wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', 'post_name' => 'classic', 'post_title' => 'Classic', 'post_content' => '[woocommerce_checkout]']);
        $product = new WC_Product_Simple();
        $product->set_name('Café especial');
        $product->set_regular_price('25.90');
        $product->set_virtual(true);
        $product->save();
        return ['product' => $product->get_id(), 'version' => WC()->version, 'wordpress' => get_bloginfo('version')];
    })(),
    'storage' => \Automattic\WooCommerce\Utilities\OrderUtil::custom_orders_table_usage_is_enabled(),
    'order' => describeOrder((int) VALUES[0]),
    // What WooCommerce's scheduler does when the time has come.
    'runScheduled' => (static function (): int {
        $ids = as_get_scheduled_actions(['group' => 'guiche-pix', 'status' => 'pending', 'per_page' => 50], 'ids');
        foreach ($ids as $id) {
            ActionScheduler::runner()->process_action($id);
        }
        return count($ids);
    })(),
    'total' => (static function (): string {
        $order = wc_get_order((int) VALUES[0]);
        $order->set_total(VALUES[1]);
        $order->save();
        return $order->get_total();
    })(),
    'refund' => (static function (): string {
        // What the button of the order page calls.
        $refund = wc_create_refund(['order_id' => (int) VALUES[0], 'amount' => VALUES[1], 'reason' => 'One was broken', 'refund_payment' => true]);
        return is_wp_error($refund) ? $refund->get_error_message() : 'refunded';
    })(),
}, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE);
