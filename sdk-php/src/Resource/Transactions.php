<?php

declare(strict_types=1);

namespace Guiche\Resource;

use Guiche\Exception\GuicheException;
use Guiche\Http\Client;
use Guiche\RecordList;
use Guiche\Types\EventSummary;
use Guiche\Types\PaymentLink;
use Guiche\Types\RefundCreated;
use Guiche\Types\Shapes;
use Guiche\Types\Transaction;
use Guiche\Types\TransactionCreated;

/**
 * PIX charges. Scopes: `transaction.read`, `transaction.write`, `refund.write`.
 *
 * @phpstan-import-type Options from Client
 * @phpstan-import-type CreateTransactionBody from Shapes
 * @phpstan-import-type RefundBody from Shapes
 * @phpstan-import-type TransactionFilters from Shapes
 * @phpstan-import-type EventFilters from Shapes
 */
final class Transactions
{
    private const WAIT_MS = 30_000;
    /** Simulated payments settle within this time. People take longer, so the pauses grow. */
    private const FIRST_PAUSE_MS = 100;
    private const LONGEST_PAUSE_MS = 5_000;
    /** The last poll begins this long before the end, or a tenth of the wait if that is shorter: an answer takes time. */
    private const LAST_POLL_MS = 1_000;

    public function __construct(private readonly Client $client)
    {
    }

    /**
     * Creates a transaction and returns its QR code, as text and image. Only `amount`, in cents, is required.
     *
     * Safe to retry. Give your own `idempotencyKey`, such as the order number and the number of the attempt: then a
     * retry is safe even after your process dies. Otherwise the SDK makes one for this call.
     *
     * ```php
     * $created = $guiche->transactions->create([
     *     'amount' => 2590,
     *     'externalCode' => 'order-2026-0001',
     *     'idempotencyKey' => 'order-2026-0001-try-1',
     *     'webhookUrl' => 'https://shop.example.com/webhooks/pix',
     *     'customer' => ['name' => 'Maria da Silva', 'document' => '529.982.247-25', 'email' => 'maria@example.com'],
     * ]);
     * ```
     *
     * @param CreateTransactionBody $input
     * @param Options $options
     * @throws \Guiche\Exception\ValidationException with every error at once
     * @throws \Guiche\Exception\AcquirerRefusedException the PSP refused the charge
     * @throws \Guiche\Exception\AcquirerUnavailableException the PSP did not answer: the outcome is unknown, not failed
     */
    public function create(array $input, array $options = []): TransactionCreated
    {
        $body = Client::withKey($input + ['paymentMethod' => 'PIX', 'pix' => []]);
        return $this->client->post('/transaction', TransactionCreated::class, $options, $body);
    }

    /**
     * A transaction as it is now.
     *
     * @param Options $options
     * @throws \Guiche\Exception\NotFoundException
     */
    public function get(string $id, array $options = []): Transaction
    {
        return $this->client->get('/transaction/' . Client::toSegment($id), Transaction::class, $options);
    }

    /**
     * Polls with growing pauses until the transaction has a status or meets your condition, and returns it as it is then.
     * For scripts and tests; a shop sets `webhookUrl` and receives events instead.
     *
     * ```php
     * $paid = $guiche->transactions->waitFor($id, 'PAID', timeoutMs: 10_000);
     * $paid = $guiche->transactions->waitFor($id, fn (Transaction $transaction) => $transaction->amountPaid >= 2590);
     * ```
     *
     * @param string|callable(Transaction): bool $until a status, such as `TransactionStatus::PAID`, or a condition
     * @throws GuicheException `wait_timed_out` after `timeoutMs`, with the last status
     */
    public function waitFor(string $id, string|callable $until, int $timeoutMs = self::WAIT_MS): Transaction
    {
        $fits = is_string($until) ? static fn (Transaction $transaction): bool => $transaction->status === $until : $until;
        $endsAt = hrtime(true) + $timeoutMs * 1_000_000;
        $lastPollAt = $endsAt - min(self::LAST_POLL_MS, intdiv($timeoutMs, 10)) * 1_000_000;
        $status = 'of unknown status';
        for ($pauseMs = self::FIRST_PAUSE_MS; ; $pauseMs = (int) min(self::LONGEST_PAUSE_MS, $pauseMs * 1.5)) {
            $cause = null;
            try {
                $last = $this->get($id, ['endsAt' => $endsAt]);
                if ($fits($last)) {
                    return $last;
                }
                $status = $last->status;
            } catch (GuicheException $error) {
                if ($endsAt - hrtime(true) >= 1_000_000) {
                    throw $error;
                }
                $cause = $error;
            }
            $untilLastMs = intdiv($lastPollAt - hrtime(true), 1_000_000);
            $untilNextMs = (int) ($untilLastMs > 0 ? min($pauseMs, $untilLastMs) : $pauseMs);
            $leftMs = max(0, intdiv($endsAt - hrtime(true), 1_000_000));
            $this->client->sleep(min($untilNextMs, $leftMs));
            if ($untilNextMs >= $leftMs) {
                $missed = is_string($until) ? ", not $until" : ' and does not meet the condition';
                throw new GuicheException('wait_timed_out', "Transaction $id is {$status}{$missed}, after $timeoutMs ms. Wait longer, or check again later.", previous: $cause);
            }
        }
    }

    /**
     * The page to send the customer to. It shows the code and the amount, nothing about the customer, and turns to "paid"
     * automatically. A transaction always has the same link.
     *
     * @param Options $options
     * @throws \Guiche\Exception\NotFoundException
     */
    public function paymentLink(string $id, array $options = []): PaymentLink
    {
        return $this->client->get('/transaction/' . Client::toSegment($id) . '/payment-link', PaymentLink::class, $options);
    }

    /**
     * Transactions, newest first; all filters must match.
     *
     * @param TransactionFilters $filters
     * @param Options $options
     * @return RecordList<Transaction>
     */
    public function list(array $filters = [], array $options = []): RecordList
    {
        return $this->client->list('/transaction', Transaction::class, $filters, $options);
    }

    /**
     * All matching transactions as CSV (RFC 4180), amounts in cents: a stream to read from, with
     * `stream_copy_to_stream()` for instance.
     *
     * @param TransactionFilters $filters
     * @param Options $options
     * @return resource
     */
    public function export(array $filters = [], array $options = []): mixed
    {
        return $this->client->export('/transaction', $filters, $options);
    }

    /**
     * Refunds the payer, within 90 days of the payment: `amount` cents, or all that is left. The outcome shows in the
     * transaction and its events.
     *
     * Safe to retry, like `create`.
     *
     * @param RefundBody $input
     * @param Options $options
     * @throws GuicheException `refund_not_possible`, `insufficient_balance` or `payouts_stopped`
     */
    public function refund(string $id, array $input = [], array $options = []): RefundCreated
    {
        return $this->client->post('/transaction/' . Client::toSegment($id) . '/refund', RefundCreated::class, $options, Client::withKey($input));
    }

    /**
     * Cancels an open charge, so that nobody can pay it: the transaction is FAILED with `failureCode` `canceled`. If it
     * is canceled already, the answer is the same.
     *
     * @param Options $options
     * @throws GuicheException `cancel_not_possible` once it was paid, or has failed for another reason
     * @throws \Guiche\Exception\AcquirerRefusedException the PSP refused to cancel the charge, which can still be paid
     * @throws \Guiche\Exception\AcquirerUnavailableException the outcome is not known yet: the PSP did not answer, or
     *   reports the charge as paid without showing the payment. Fetch the transaction later, or repeat the call
     */
    public function cancel(string $id, array $options = []): Transaction
    {
        return $this->client->post('/transaction/' . Client::toSegment($id) . '/cancel', Transaction::class, $options, isRepeatable: true);
    }

    /**
     * Status changes of one transaction, newest first.
     *
     * @param EventFilters $filters
     * @param Options $options
     * @return RecordList<EventSummary>
     */
    public function events(string $id, array $filters = [], array $options = []): RecordList
    {
        return $this->client->list('/transaction/' . Client::toSegment($id) . '/event', EventSummary::class, $filters, $options);
    }
}
