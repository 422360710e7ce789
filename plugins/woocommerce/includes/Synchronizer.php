<?php

declare(strict_types=1);

namespace Guiche\WooCommerce;

use Guiche\Money;
use Guiche\Types\Transaction;
use Guiche\Types\TransactionStatus;

/**
 * Brings an order to the state of its transaction. A webhook and the schedule both only say which order to check: the
 * transaction is fetched, under a lock, so that neither a repeated nor a late webhook changes anything twice.
 */
final class Synchronizer
{
    /** The last applied state of each transaction: status, amounts paid and returned, and number of failed refunds. */
    private const APPLIED = '_guiche_applied';
    /** The transaction whose amount is not that of the order: a note asks a person to check it. */
    private const MISMATCHED = '_guiche_mismatched';
    /** The ids of the transactions that did not pay the order, and of which it has a note. */
    private const NOTED = '_guiche_noted';
    /** How many refused refunds the order has a note of. */
    private const REFUSED_REFUNDS = '_guiche_refused_refunds';
    private const LOCK_SECONDS = 20;

    /** @return bool false if the order has no such transaction */
    public static function synchronize(int $orderId, string $transactionId): bool
    {
        return self::locked($orderId, static function () use ($orderId, $transactionId): bool {
            $order = wc_get_order($orderId);
            if (!$order instanceof \WC_Order) {
                return false;
            }
            $order->read_meta_data(true);
            $known = Charges::transactionsOf($order);
            // The customer may have paid the code and then by another method.
            if ($order->get_payment_method() !== Plugin::GATEWAY && !isset($known[$transactionId])) {
                return false;
            }
            $transaction = Plugin::client()->transactions->get($transactionId);
            if (Charges::orderIdOf($transaction->externalCode) !== $orderId) {
                return false;
            }
            // One that is not stored: the webhook was faster than the answer to the create, or that answer was lost.
            self::apply($order, $transaction, $known[$transactionId] ?? $transaction->amount);
            return true;
        });
    }

    private static function apply(\WC_Order $order, Transaction $transaction, int $charged): void
    {
        $state = implode(' ', [$transaction->status, $transaction->amountPaid ?? 0, self::returned($transaction), self::failedRefunds($transaction)]);
        $applied = json_decode((string) $order->get_meta(self::APPLIED), true) ?: [];
        $before = $applied[$transaction->id] ?? '';
        if ($before !== $state) {
            $paidBy = (string) $order->get_meta(Charges::PAID_BY);
            if ($paidBy !== $transaction->id && ($paidBy !== '' || $order->get_payment_method() !== Plugin::GATEWAY)) {
                // What paid the order decides about its status: another Pix, or the other method.
                self::noteAnother($order, $transaction);
            } else {
                match ($transaction->status) {
                    TransactionStatus::FAILED => self::fail($order, $transaction),
                    TransactionStatus::BLOCKED, TransactionStatus::PROCESSING_INFRACTION =>
                        self::hold($order, __('The payer disputes the Pix (MED). Do not ship until it is decided.', 'guiche-for-woocommerce')),
                    TransactionStatus::PENDING, TransactionStatus::PIX_QRCODE_GENERATED => null,
                    default => self::settle($order, $transaction, $charged, $before),
                };
            }
            $applied[$transaction->id] = $state;
            $order->update_meta_data(self::APPLIED, (string) wp_json_encode($applied));
            $order->save();
        }
        // Each time: WooCommerce deletes its record of a refund whose answer was lost.
        if ($order->get_meta(Charges::PAID_BY) === $transaction->id) {
            self::recordReturns($order, $transaction);
        }
    }

    /** @param string $before the state that was applied last, empty if there is none */
    private static function settle(\WC_Order $order, Transaction $transaction, int $charged, string $before): void
    {
        if ($order->get_meta(Charges::PAID_BY) === '') {
            self::pay($order, $transaction, $charged);
            return;
        }
        $wasDisputed = in_array(explode(' ', $before)[0], [TransactionStatus::BLOCKED, TransactionStatus::PROCESSING_INFRACTION], true);
        if ($wasDisputed && in_array($transaction->status, [TransactionStatus::PAID, TransactionStatus::PROCESSING_REFUND], true)) {
            $order->add_order_note(__('The dispute of the Pix has ended. What was not returned stays with you.', 'guiche-for-woocommerce'));
        }
        $refused = self::failedRefunds($transaction);
        if ($refused > (int) $order->get_meta(self::REFUSED_REFUNDS) && $transaction->errorMessage !== null) {
            $order->update_meta_data(self::REFUSED_REFUNDS, (string) $refused);
            /* translators: %s: a reason */
            $order->add_order_note(sprintf(__('The bank refused a refund: %s Delete the refund in this order, and request it again.', 'guiche-for-woocommerce'), $transaction->errorMessage));
        }
    }

    /** Notes a payment that did not pay the order: once, since it changes again when it is refunded. */
    private static function noteAnother(\WC_Order $order, Transaction $transaction): void
    {
        $noted = (string) $order->get_meta(self::NOTED);
        if ($transaction->status !== TransactionStatus::PAID || str_contains($noted, $transaction->id)) {
            return;
        }
        $order->update_meta_data(self::NOTED, trim("$noted $transaction->id"));
        /* translators: 1: an amount, 2: an id */
        $note = __('Another Pix of this order was paid: %1$s (%2$s). Refund it in Guichê.', 'guiche-for-woocommerce');
        $order->add_order_note(sprintf($note, Money::formatBRL($transaction->amountPaid ?? 0), $transaction->id));
    }

    private static function pay(\WC_Order $order, Transaction $transaction, int $charged): void
    {
        $paid = $transaction->amountPaid ?? 0;
        $total = Charges::centsOf($order);
        if ($paid !== $charged || $paid !== $total) {
            // Once: a person may have accepted it, and a later refund must not hold the order again.
            if ($order->get_meta(self::MISMATCHED) === $transaction->id) {
                return;
            }
            $order->update_meta_data(self::MISMATCHED, $transaction->id);
            /* translators: 1: an amount, 2: an amount, 3: an id */
            $note = __('A Pix of %1$s was paid, but the order is %2$s (%3$s). Check it before you ship.', 'guiche-for-woocommerce');
            self::hold($order, sprintf($note, Money::formatBRL($paid), Money::formatBRL($total), $transaction->id));
            return;
        }
        $order->update_meta_data(Charges::PAID_BY, $transaction->id);
        /* translators: 1: an amount, 2: the end-to-end id of the Pix */
        $order->add_order_note(sprintf(__('Pix of %1$s received (%2$s).', 'guiche-for-woocommerce'), Money::formatBRL($paid), $transaction->endToEnd ?? $transaction->id));
        $order->payment_complete($transaction->endToEnd ?? $transaction->id);
    }

    /** Money that went back without this order page: from Guichê's dashboard, or under a dispute. */
    private static function recordReturns(\WC_Order $order, Transaction $transaction): void
    {
        $missing = self::returned($transaction) - Money::toCents((string) $order->get_total_refunded());
        if ($missing <= 0) {
            return;
        }
        Charges::noteRefunds($order, array_map(static fn ($refund): string => $refund->id, $transaction->refunds ?? []));
        $order->save();
        $refund = wc_create_refund([
            'order_id' => $order->get_id(),
            'amount' => sprintf('%d.%02d', intdiv($missing, 100), $missing % 100),
            'reason' => __('Returned by Pix outside of WooCommerce', 'guiche-for-woocommerce'),
            'refund_payment' => false,
        ]);
        if (is_wp_error($refund)) {
            /* translators: 1: an amount, 2: a reason */
            $order->add_order_note(sprintf(__('%1$s went back to the payer, but WooCommerce could not record it: %2$s', 'guiche-for-woocommerce'), Money::formatBRL($missing), $refund->get_error_message()));
        }
    }

    private static function fail(\WC_Order $order, Transaction $transaction): void
    {
        $isCurrent = array_key_last(Charges::transactionsOf($order)) === $transaction->id;
        if ($isCurrent && $order->has_status(['pending', 'on-hold']) && $order->get_meta(Charges::PAID_BY) === '') {
            $order->update_status('failed', match ($transaction->failureCode) {
                'expired' => __('The Pix code expired without a payment.', 'guiche-for-woocommerce'),
                'canceled' => __('The Pix charge was canceled without a payment.', 'guiche-for-woocommerce'),
                'removed' => __('The bank removed the Pix charge without a payment.', 'guiche-for-woocommerce'),
                default => __('The bank refused the Pix charge.', 'guiche-for-woocommerce'),
            });
        }
    }

    /** A status that stays the same gets no note from WooCommerce. */
    private static function hold(\WC_Order $order, string $note): void
    {
        $order->add_order_note($note);
        $order->update_status('on-hold');
    }

    private static function returned(Transaction $transaction): int
    {
        return ($transaction->amountRefunded ?? 0) + ($transaction->amountReturned ?? 0);
    }

    private static function failedRefunds(Transaction $transaction): int
    {
        return count(array_filter($transaction->refunds ?? [], static fn ($refund): bool => $refund->status === 'FAILED'));
    }

    /**
     * One request at a time changes an order. The database releases the lock if PHP dies.
     *
     * @param callable(): bool $work
     */
    private static function locked(int $orderId, callable $work): bool
    {
        global $wpdb;
        $name = substr(md5(DB_NAME . $wpdb->prefix), 0, 12) . "_guiche_$orderId";
        if ((string) $wpdb->get_var($wpdb->prepare('SELECT GET_LOCK(%s, %d)', $name, self::LOCK_SECONDS)) !== '1') {
            throw new \RuntimeException("Order $orderId is locked by another request.");
        }
        try {
            return $work();
        } finally {
            $wpdb->get_var($wpdb->prepare('SELECT RELEASE_LOCK(%s)', $name));
        }
    }
}
