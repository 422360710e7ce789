<?php

declare(strict_types=1);

namespace Guiche\WooCommerce;

use Automattic\WooCommerce\Blocks\Payments\Integrations\AbstractPaymentMethodType;

/** Pix in the checkout block. */
final class CheckoutBlock extends AbstractPaymentMethodType
{
    private const SCRIPT = 'guiche-pix-checkout-block';

    /** @var string */
    protected $name = Plugin::GATEWAY;

    public function initialize(): void
    {
        $this->settings = Plugin::settings();
    }

    public function is_active(): bool
    {
        $gateway = WC()->payment_gateways()->payment_gateways()[Plugin::GATEWAY] ?? null;
        return $gateway !== null && $gateway->is_available();
    }

    /** @return list<string> */
    public function get_payment_method_script_handles(): array
    {
        wp_register_script(self::SCRIPT, Plugin::url('assets/checkout-block.js'), ['wc-blocks-registry', 'wc-settings', 'wp-element', 'wp-html-entities'], Plugin::VERSION, true);
        return [self::SCRIPT];
    }

    /** @return array<string, mixed> */
    public function get_payment_method_data(): array
    {
        return [
            'title' => $this->get_setting('title'),
            'description' => $this->get_setting('description'),
            'icon' => Plugin::url('assets/pix.svg'),
            'supports' => ['products'],
        ];
    }
}
