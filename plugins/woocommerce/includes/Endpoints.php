<?php

declare(strict_types=1);

namespace Guiche\WooCommerce;

use Guiche\Exception\GuicheException;
use Guiche\Exception\NotFoundException;
use Guiche\Exception\WebhookVerificationException;
use Guiche\Types\Transaction;
use Guiche\Webhook;

/** What Guichê and the customer's browser call: `/wc-api/guiche_pix/`, `/wc-api/guiche_pix_status/` and `…_qr/`. */
final class Endpoints
{
    private const WEBHOOK = 'guiche_pix';
    private const STATUS = 'guiche_pix_status';
    private const QR_CODE = 'guiche_pix_qr';

    private const BODY_MAX_BYTES = 1_048_576;
    /** The page of a waiting customer has the payment checked at most this often, in case no webhook arrives. */
    private const CHECK_SECONDS = 15;

    public static function register(): void
    {
        add_action('woocommerce_api_' . self::WEBHOOK, static function (): void {
            status_header(self::receive($_SERVER, (string) file_get_contents('php://input', length: self::BODY_MAX_BYTES)));
            exit;
        });
        add_action('woocommerce_api_' . self::STATUS, self::sendStatus(...));
        add_action('woocommerce_api_' . self::QR_CODE, self::sendQrCode(...));
    }

    public static function webhookUrl(): string
    {
        return WC()->api_request_url(self::WEBHOOK);
    }

    public static function statusUrl(\WC_Order $order): string
    {
        return self::orderUrl(self::STATUS, $order);
    }

    /** For e-mails: most mail programs show no data URLs. */
    public static function qrCodeUrl(\WC_Order $order): string
    {
        return self::orderUrl(self::QR_CODE, $order);
    }

    /** @return list<string> two during a change of secrets */
    public static function webhookSecrets(): array
    {
        return array_values(array_filter(preg_split('/[\s,]+/', Plugin::settings()['webhook_secret'] ?? '') ?: []));
    }

    /**
     * @param array<string, mixed> $server
     * @return int the HTTP status of the answer
     */
    public static function receive(array $server, string $body): int
    {
        if (($server['REQUEST_METHOD'] ?? '') !== 'POST') {
            return 405;
        }
        try {
            $event = Webhook::verify(self::webhookSecrets(), $server, $body);
        } catch (WebhookVerificationException $error) {
            Plugin::log('warning', 'A webhook was refused', ['error' => $error->detail]);
            return 401;
        } catch (\InvalidArgumentException $error) {
            Plugin::log('error', 'The webhook secret in the settings is not valid', ['error' => $error->getMessage()]);
            return 500;
        }
        if (!$event->data instanceof Transaction) {
            return 204;
        }
        $orderId = Charges::orderIdOf($event->data->externalCode);
        try {
            if ($orderId === 0 || !Synchronizer::synchronize($orderId, $event->data->id)) {
                Plugin::log('warning', 'A webhook is not about an order of this shop', ['event' => $event->id]);
                return 404;
            }
            return 204;
        } catch (NotFoundException) {
            return 404;
        } catch (GuicheException | \RuntimeException $error) {
            // Guichê sends it again.
            Plugin::log('error', 'A webhook could not be applied', ['order' => $orderId, 'error' => $error->getMessage()]);
            return 503;
        }
    }

    /** Checks the payment for the customer who waits, at most once in {@see CHECK_SECONDS}. */
    public static function statusOf(\WC_Order $order): string
    {
        $current = array_key_last(Charges::transactionsOf($order));
        $throttle = "guiche_check_{$order->get_id()}";
        if (!$order->is_paid() && $current !== null && get_transient($throttle) === false) {
            set_transient($throttle, 1, self::CHECK_SECONDS);
            try {
                Synchronizer::synchronize($order->get_id(), $current);
                $order = wc_get_order($order->get_id());
            } catch (\RuntimeException $error) {
                Plugin::log('warning', 'A payment could not be checked', ['order' => $order->get_id(), 'error' => $error->getMessage()]);
            }
        }
        return match (true) {
            $order->is_paid() => 'paid',
            Charges::codeToPay($order) === null => 'ended',
            default => 'waiting',
        };
    }

    private static function sendStatus(): void
    {
        $order = self::orderOfRequest();
        nocache_headers();
        wp_send_json(['status' => self::statusOf($order)]);
    }

    private static function sendQrCode(): void
    {
        $code = Charges::codeToPay(self::orderOfRequest());
        $png = $code === null ? false : base64_decode(substr($code['qrCode'], strlen('data:image/png;base64,')), true);
        if ($png === false) {
            wp_die('', '', ['response' => 404]);
        }
        header('Content-Type: image/png');
        header('X-Content-Type-Options: nosniff');
        echo $png; // phpcs:ignore WordPress.Security.EscapeOutput
        exit;
    }

    /** The order whose key the address has, as WooCommerce's own pages after a checkout. */
    private static function orderOfRequest(): \WC_Order
    {
        $order = wc_get_order(absint($_GET['order'] ?? 0));
        $key = is_string($_GET['key'] ?? null) ? wp_unslash($_GET['key']) : '';
        if (!$order instanceof \WC_Order || $order->get_payment_method() !== Plugin::GATEWAY || !hash_equals($order->get_order_key(), $key)) {
            wp_die('', '', ['response' => 404]);
        }
        return $order;
    }

    private static function orderUrl(string $endpoint, \WC_Order $order): string
    {
        return add_query_arg(['order' => $order->get_id(), 'key' => $order->get_order_key()], WC()->api_request_url($endpoint));
    }
}
