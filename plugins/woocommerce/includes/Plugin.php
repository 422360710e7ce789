<?php

declare(strict_types=1);

namespace Guiche\WooCommerce;

use Automattic\WooCommerce\Blocks\Payments\PaymentMethodRegistry;
use Automattic\WooCommerce\Utilities\FeaturesUtil;
use Guiche\Guiche;

/** Wires the plugin into WordPress and WooCommerce. */
final class Plugin
{
    public const GATEWAY = 'guiche_pix';
    public const VERSION = '0.1.0';

    private static string $file = '';
    private static ?Guiche $client = null;

    public static function register(string $file): void
    {
        self::$file = $file;
        add_action('before_woocommerce_init', static function () use ($file): void {
            FeaturesUtil::declare_compatibility('custom_order_tables', $file, true);
            FeaturesUtil::declare_compatibility('cart_checkout_blocks', $file, true);
        });
        add_action('woocommerce_create_refund', Charges::noteRecord(...));
        add_action('init', static fn () => load_plugin_textdomain('guiche-for-woocommerce', false, dirname(plugin_basename($file)) . '/languages'));
        add_filter('woocommerce_payment_gateways', static fn (array $gateways): array => [...$gateways, Gateway::class]);
        add_action('woocommerce_blocks_payment_method_type_registration', static fn (PaymentMethodRegistry $registry) => $registry->register(new CheckoutBlock()));
        add_filter('plugin_action_links_' . plugin_basename($file), self::addSettingsLink(...));
        register_deactivation_hook($file, static fn () => as_unschedule_all_actions('', [], 'guiche-pix'));
        PaymentView::register();
        Endpoints::register();
        Schedule::register();
    }

    /** The address of a file of the plugin. */
    public static function url(string $path): string
    {
        return plugins_url($path, self::$file);
    }

    /** @return array<string, string> */
    public static function settings(): array
    {
        $settings = get_option('woocommerce_' . self::GATEWAY . '_settings', []);
        return is_array($settings) ? $settings : [];
    }

    public static function isConfigured(): bool
    {
        $settings = self::settings();
        foreach (['base_url', 'client_id', 'client_secret', 'webhook_secret'] as $name) {
            if (($settings[$name] ?? '') === '') {
                return false;
            }
        }
        return true;
    }

    public static function client(): Guiche
    {
        $settings = self::settings();
        // A checkout waits for the answer, so the limits are short. If it is lost, the customer's next try repeats the
        // request with the same key.
        return self::$client ??= new Guiche(
            $settings['base_url'] ?? '',
            $settings['client_id'] ?? '',
            $settings['client_secret'] ?? '',
            timeoutMs: 15_000,
            maxRetries: 1,
            transport: new WordPressTransport(),
            tokenStore: new TransientTokenStore(),
        );
    }

    /** Distinguishes the charges of this shop from those of another one with the same credentials. */
    public static function installation(): string
    {
        $id = get_option('guiche_installation', '');
        if (!is_string($id) || $id === '') {
            // Saving the settings adds it. WordPress would store the later value of two requests that add it at once.
            add_option('guiche_installation', bin2hex(random_bytes(6)), '', false);
            $id = (string) get_option('guiche_installation');
        }
        return $id;
    }

    /** @param array<string, mixed> $context no names, documents, e-mails or secrets */
    public static function log(string $level, string $message, array $context = []): void
    {
        wc_get_logger()->log($level, $message, ['source' => 'guiche-pix'] + $context);
    }

    /**
     * @param array<int|string, string> $links
     * @return array<int|string, string>
     */
    private static function addSettingsLink(array $links): array
    {
        $url = admin_url('admin.php?page=wc-settings&tab=checkout&section=' . self::GATEWAY);
        return ['settings' => sprintf('<a href="%s">%s</a>', esc_url($url), esc_html__('Settings', 'guiche-for-woocommerce')), ...$links];
    }
}
