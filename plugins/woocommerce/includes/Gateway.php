<?php

declare(strict_types=1);

namespace Guiche\WooCommerce;

use Guiche\Exception\GuicheException;
use Guiche\Exception\ValidationException;
use Guiche\Money;

/** Pix as a way to pay, with its settings and refunds. */
final class Gateway extends \WC_Payment_Gateway
{
    private const AMOUNT_MAX = 10_000_000;

    public function __construct()
    {
        $this->id = Plugin::GATEWAY;
        $this->method_title = __('Pix (Guichê)', 'guiche-for-woocommerce');
        $this->method_description = __('Customers pay with Pix through your own Guichê. The order is marked as paid automatically.', 'guiche-for-woocommerce');
        $this->icon = Plugin::url('assets/pix.svg');
        $this->has_fields = false;
        $this->supports = ['products', 'refunds'];
        $this->init_form_fields();
        $this->init_settings();
        $this->title = $this->get_option('title');
        $this->description = $this->get_option('description');
        add_action('woocommerce_update_options_payment_gateways_' . $this->id, [$this, 'process_admin_options']);
    }

    public function init_form_fields(): void
    {
        $this->form_fields = [
            'enabled' => [
                'title' => __('Enable', 'guiche-for-woocommerce'),
                'type' => 'checkbox',
                'label' => __('Accept Pix', 'guiche-for-woocommerce'),
                'default' => 'no',
            ],
            'title' => [
                'title' => __('Title', 'guiche-for-woocommerce'),
                'type' => 'text',
                'default' => 'Pix',
            ],
            'description' => [
                'title' => __('Description', 'guiche-for-woocommerce'),
                'type' => 'textarea',
                'default' => __('You get a QR code to pay in the app of your bank. The confirmation takes seconds.', 'guiche-for-woocommerce'),
            ],
            'base_url' => [
                'title' => __('Address of Guichê', 'guiche-for-woocommerce'),
                'type' => 'text',
                'placeholder' => 'https://pix.example.com',
                'description' => __('Without a path, unless your operator gave you one.', 'guiche-for-woocommerce'),
            ],
            'client_id' => ['title' => __('Client ID', 'guiche-for-woocommerce'), 'type' => 'text'],
            'client_secret' => ['title' => __('Client secret', 'guiche-for-woocommerce'), 'type' => 'password'],
            'webhook_secret' => [
                'title' => __('Webhook secret', 'guiche-for-woocommerce'),
                'type' => 'password',
                'description' => __('It begins with whsec_. While you change the secret, enter the old one and the new one, separated by a space.', 'guiche-for-woocommerce'),
            ],
            'expiration_minutes' => [
                'title' => __('Minutes to pay', 'guiche-for-woocommerce'),
                'type' => 'number',
                'default' => '30',
                'custom_attributes' => ['min' => '1', 'max' => '1440', 'step' => '1'],
                'description' => __('After that the code expires, and the customer can get a new one for the order.', 'guiche-for-woocommerce'),
            ],
        ];
    }

    /** Saves the settings. If none is missing, it checks the form of each webhook secret and tries the credentials. */
    public function process_admin_options(): bool
    {
        $client = [$this->get_option('base_url'), $this->get_option('client_id')];
        $isSaved = parent::process_admin_options();
        // This creates the id of this shop now: two first checkouts at once would each create one.
        Plugin::installation();
        if ($client !== [$this->get_option('base_url'), $this->get_option('client_id')]) {
            // Other credentials have their own event feed, where the saved position means nothing.
            Schedule::forget();
        }
        if (!Plugin::isConfigured()) {
            return $isSaved;
        }
        try {
            // Endpoints::receive refuses every webhook if any of the secrets is malformed.
            foreach (Endpoints::webhookSecrets() ?: [''] as $secret) {
                \Guiche\Webhook::readSecret($secret);
            }
            Plugin::client()->transactions->list(['perPage' => 1])->page();
            \WC_Admin_Settings::add_message(__('Guichê accepts the credentials.', 'guiche-for-woocommerce'));
        } catch (GuicheException $error) {
            /* translators: %s: an error message in English */
            \WC_Admin_Settings::add_error(sprintf(__('The check of these settings failed: %s', 'guiche-for-woocommerce'), $error->getMessage()));
        } catch (\InvalidArgumentException $error) {
            \WC_Admin_Settings::add_error($error->getMessage());
        }
        return $isSaved;
    }

    public function is_available(): bool
    {
        return parent::is_available() && Plugin::isConfigured() && get_woocommerce_currency() === 'BRL';
    }

    /**
     * @param int $order_id
     * @return array{result: string, redirect: string}
     */
    public function process_payment($order_id): array
    {
        $order = wc_get_order($order_id);
        try {
            $cents = Charges::centsOf($order);
            if ($cents < 1 || $cents > self::AMOUNT_MAX || $order->get_currency() !== 'BRL') {
                throw new \InvalidArgumentException("Order {$order->get_id()} cannot be paid with Pix: {$order->get_total()} {$order->get_currency()}");
            }
            Charges::create($order);
        } catch (GuicheException | \InvalidArgumentException $error) {
            // The order keeps its status. Unless the PSP refused the charge, the next try sends the same key, so that a
            // lost answer makes no second charge.
            Plugin::log('error', 'A charge could not be created', ['order' => $order->get_id(), 'error' => $error->getMessage()]);
            wc_add_notice(__('The Pix code could not be created. Try again in a moment, or choose another way to pay.', 'guiche-for-woocommerce'), 'error');
            return ['result' => 'failure', 'redirect' => ''];
        }
        if (!$order->is_paid()) {
            // Reduces the stock, and sends the e-mail that has the code.
            $order->update_status('on-hold', __('Waiting for the Pix.', 'guiche-for-woocommerce'));
        }
        WC()->cart?->empty_cart();
        return ['result' => 'success', 'redirect' => $this->get_return_url($order)];
    }

    /** @param \WC_Order $order */
    public function can_refund_order($order): bool
    {
        return $order && $order->get_meta(Charges::PAID_BY) !== '' && parent::can_refund_order($order);
    }

    /**
     * @param int $order_id
     * @param null|string|float $amount
     * @param string $reason
     * @return bool|\WP_Error
     */
    public function process_refund($order_id, $amount = null, $reason = '')
    {
        $order = wc_get_order($order_id);
        try {
            $cents = Money::toCents((string) $amount);
            if ($cents < 1) {
                return new \WP_Error('guiche', __('There is nothing to refund.', 'guiche-for-woocommerce'));
            }
            Charges::refund($order, $cents);
            return true;
        } catch (ValidationException | \InvalidArgumentException $error) {
            return new \WP_Error('guiche', $error->getMessage());
        } catch (GuicheException $error) {
            Plugin::log('error', 'A refund could not be requested', ['order' => $order->get_id(), 'error' => $error->getMessage()]);
            // WooCommerce deletes its record now. If Guichê did refund, the check records it again.
            Schedule::checkSoon($order->get_id(), (string) $order->get_meta(Charges::PAID_BY));
            return new \WP_Error('guiche', Charges::explainRefund($error));
        }
    }
}
