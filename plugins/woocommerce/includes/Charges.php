<?php

declare(strict_types=1);

namespace Guiche\WooCommerce;

use Guiche\Exception\AcquirerRefusedException;
use Guiche\Exception\AcquirerUnavailableException;
use Guiche\Exception\ConnectionException;
use Guiche\Exception\GuicheException;
use Guiche\Exception\IdempotencyKeyReusedException;
use Guiche\Exception\ValidationException;
use Guiche\Money;
use Guiche\Types\TransactionCreated;

/**
 * The charge of an order. An order has one attempt after another: a new one when the code has expired, or when the
 * total has changed. What an attempt sends is stored before it is sent, so that it is repeated and never made twice.
 */
final class Charges
{
    /** The number of the attempt, and the cents that it charges. */
    private const ATTEMPT = '_guiche_attempt';
    private const AMOUNT = '_guiche_amount';
    /** All transactions of the order, the current one last, as `id:cents`. */
    private const TRANSACTIONS = '_guiche_transactions';
    private const URI = '_guiche_uri';
    private const QR_CODE = '_guiche_qr_code';
    private const EXPIRES_AT = '_guiche_expires_at';
    /** The transaction that paid the order. */
    public const PAID_BY = '_guiche_paid_by';
    /** How many refunds Guichê has accepted from this order page. */
    private const REFUNDS = '_guiche_refunds';
    /** The last refund that was requested, as `number:cents:record`. It is stored before it is sent. */
    private const REFUND_ATTEMPT = '_guiche_refund_attempt';
    /** The ids of the refunds that the order has a record of. */
    private const REFUND_IDS = '_guiche_refund_ids';

    /** A code that ends sooner is not shown to a customer who comes back. */
    private const LEFT_MIN_SECONDS = 30;

    /** WooCommerce's record of the refund that it requests in this process. */
    private static ?\WC_Order_Refund $record = null;

    public static function centsOf(\WC_Order $order): int
    {
        // As text, digit by digit: WooCommerce gives "25.90", or 25.9 as a number whose shortest text is exact.
        return Money::toCents((string) $order->get_total());
    }

    /** `externalCode`, such as `wc-1f2e3d4c5b6a-1042`. */
    public static function codeOf(int $orderId): string
    {
        return 'wc-' . Plugin::installation() . "-$orderId";
    }

    /** The order of a code; 0 if it is of another shop. */
    public static function orderIdOf(?string $externalCode): int
    {
        $isOurs = preg_match('/\Awc-([0-9a-f]{12})-([1-9]\d{0,17})\z/', $externalCode ?? '', $found) === 1 && $found[1] === Plugin::installation();
        return $isOurs ? (int) $found[2] : 0;
    }

    /** Creates the charge of an order, or keeps the one that it has. */
    public static function create(\WC_Order $order): void
    {
        $cents = self::centsOf($order);
        $isCurrent = (int) $order->get_meta(self::AMOUNT) === $cents;
        if ($isCurrent && self::codeToPay($order) !== null) {
            return;
        }
        // Without a code, the answer to the last attempt was lost: the attempt is repeated as it was.
        $isUnanswered = $isCurrent && $order->get_meta(self::URI) === '';
        if (!$isUnanswered) {
            self::beginAttempt($order, $cents);
        }
        try {
            $created = self::send($order, $cents);
        } catch (IdempotencyKeyReusedException) {
            // Settings have changed since the last attempt, such as the minutes.
            self::beginAttempt($order, $cents);
            $created = self::send($order, $cents);
        } catch (AcquirerRefusedException $error) {
            // The refused transaction may keep the key, which would then give the same answer for ever.
            self::beginAttempt($order, $cents);
            throw $error;
        }
        Schedule::ensure();
        self::store($order, $created, $cents);
    }

    /**
     * What the customer pays with, while it can be paid.
     *
     * @return null|array{uri: string, qrCode: string, expiresAt: int}
     */
    public static function codeToPay(\WC_Order $order): ?array
    {
        $uri = (string) $order->get_meta(self::URI);
        $expiresAt = (int) $order->get_meta(self::EXPIRES_AT);
        if ($uri === '' || $expiresAt - time() < self::LEFT_MIN_SECONDS || $order->has_status('failed')) {
            return null;
        }
        return ['uri' => $uri, 'qrCode' => (string) $order->get_meta(self::QR_CODE), 'expiresAt' => $expiresAt];
    }

    /** @return array<string, int> the cents of each transaction of the order, the current one last */
    public static function transactionsOf(\WC_Order $order): array
    {
        $transactions = [];
        foreach (array_filter(explode(' ', (string) $order->get_meta(self::TRANSACTIONS))) as $entry) {
            [$id, $cents] = explode(':', $entry);
            $transactions[$id] = (int) $cents;
        }
        return $transactions;
    }

    /**
     * Requests a refund. WooCommerce deletes its own record when this fails, and its next try is another record. So the
     * key counts the refunds that Guichê has accepted: a request whose answer was lost is repeated, not made twice.
     */
    public static function refund(\WC_Order $order, int $cents): void
    {
        self::repeatInterrupted($order);
        $number = (int) $order->get_meta(self::REFUNDS) + 1;
        $order->update_meta_data(self::REFUND_ATTEMPT, "$number:$cents:" . (self::$record?->get_id() ?? 0));
        $order->save();
        if (!self::sendRefund($order, $number, $cents)) {
            // Its answer was lost, and it was recorded when the money went back.
            throw new \InvalidArgumentException(__('This refund was carried out before, and the order has a record of it.', 'guiche-for-woocommerce'));
        }
    }

    public static function noteRecord(\WC_Order_Refund $record): void
    {
        self::$record = $record;
    }

    /**
     * If a process ends after WooCommerce has its record of a refund and before this order counts it, the record stays.
     * This sends the same request again, so that the next refund has a key of its own.
     */
    private static function repeatInterrupted(\WC_Order $order): void
    {
        [$number, $cents, $record] = array_map('intval', explode(':', (string) $order->get_meta(self::REFUND_ATTEMPT) ?: '0:0:0'));
        if ($number > (int) $order->get_meta(self::REFUNDS) && $record > 0 && wc_get_order($record) instanceof \WC_Order_Refund) {
            self::sendRefund($order, $number, $cents);
        }
    }

    /** @return bool false if the order has a record of it already */
    private static function sendRefund(\WC_Order $order, int $number, int $cents): bool
    {
        $refund = Plugin::client()->transactions->refund((string) $order->get_meta(self::PAID_BY), [
            'amount' => $cents,
            'idempotencyKey' => self::codeOf($order->get_id()) . "-refund-$number",
        ]);
        $isNew = self::noteRefunds($order, [$refund->id]);
        $order->update_meta_data(self::REFUNDS, (string) $number);
        $order->save();
        if ($isNew) {
            /* translators: 1: an amount, 2: an id */
            $order->add_order_note(sprintf(__('Refund of %1$s requested (%2$s).', 'guiche-for-woocommerce'), Money::formatBRL($cents), $refund->id));
        }
        return $isNew;
    }

    /**
     * Notes that the order has a record of these refunds. The caller saves the order.
     *
     * @param list<string> $ids
     * @return bool true if one is new
     */
    public static function noteRefunds(\WC_Order $order, array $ids): bool
    {
        $known = array_filter(explode(' ', (string) $order->get_meta(self::REFUND_IDS)));
        $all = array_unique([...$known, ...$ids]);
        $order->update_meta_data(self::REFUND_IDS, implode(' ', $all));
        return count($all) > count($known);
    }

    public static function explainRefund(GuicheException $error): string
    {
        return match (true) {
            $error instanceof ConnectionException, $error instanceof AcquirerUnavailableException =>
                __('Guichê did not answer, so it is not known whether the refund was accepted. Request the same amount again: it is refunded only once.', 'guiche-for-woocommerce'),
            $error instanceof IdempotencyKeyReusedException =>
                __('The answer to an earlier refund with another amount was lost. Request that amount first: it is refunded only once.', 'guiche-for-woocommerce'),
            default => $error->detail,
        };
    }

    private static function beginAttempt(\WC_Order $order, int $cents): void
    {
        $former = array_key_last(self::transactionsOf($order));
        if ($former !== null && self::codeToPay($order) !== null) {
            // The customer may have the former code open. If it was paid meanwhile, the order must not be
            // charged again.
            Plugin::client()->transactions->cancel($former);
        }
        $order->update_meta_data(self::ATTEMPT, (string) ((int) $order->get_meta(self::ATTEMPT) + 1));
        $order->update_meta_data(self::AMOUNT, (string) $cents);
        $order->delete_meta_data(self::URI);
        $order->delete_meta_data(self::QR_CODE);
        $order->save();
    }

    private static function send(\WC_Order $order, int $cents): TransactionCreated
    {
        $minutes = max(1, min(1440, (int) (Plugin::settings()['expiration_minutes'] ?? 30)));
        $input = [
            'amount' => $cents,
            'externalCode' => self::codeOf($order->get_id()),
            'idempotencyKey' => self::codeOf($order->get_id()) . '-' . $order->get_meta(self::ATTEMPT),
            /* translators: %s: the number of an order */
            'description' => mb_substr(sprintf(__('Order %s', 'guiche-for-woocommerce'), $order->get_order_number()), 0, 140),
            'webhookUrl' => Endpoints::webhookUrl(),
            'pix' => ['expirationSeconds' => $minutes * 60],
        ];
        try {
            return Plugin::client()->transactions->create($input);
        } catch (ValidationException $error) {
            if (!in_array('webhookUrl', array_column($error->errors, 'field'), true)) {
                throw $error;
            }
            // A shop without a public https address is not reached by webhooks: the schedule finds the payment.
            Plugin::log('warning', 'Guichê refuses the webhook address of this shop', ['error' => $error->getMessage()]);
            unset($input['webhookUrl']);
            return Plugin::client()->transactions->create($input);
        }
    }

    private static function store(\WC_Order $order, TransactionCreated $created, int $cents): void
    {
        $transactions = self::transactionsOf($order) + [$created->id => $cents];
        $order->update_meta_data(self::TRANSACTIONS, implode(' ', array_map(static fn ($id, $amount) => "$id:$amount", array_keys($transactions), $transactions)));
        $order->update_meta_data(self::URI, $created->pixResponse->uri);
        $order->update_meta_data(self::QR_CODE, $created->pixResponse->qrCodeBase64);
        $order->update_meta_data(self::EXPIRES_AT, (string) strtotime($created->pixResponse->expirationDate));
        $order->save();
        /* translators: 1: an amount, 2: an id */
        $order->add_order_note(sprintf(__('Pix of %1$s created (%2$s).', 'guiche-for-woocommerce'), Money::formatBRL($cents), $created->id));
    }
}
