<?php

declare(strict_types=1);

namespace Guiche\Resource;

use Guiche\Http\Client;
use Guiche\RecordList;
use Guiche\Types\EventSummary;
use Guiche\Types\Shapes;
use Guiche\Types\Withdrawal;
use Guiche\Types\WithdrawalCreated;

/**
 * PIX payouts. Scopes: `withdrawal.read`, `withdrawal.write`.
 *
 * @phpstan-import-type Options from Client
 * @phpstan-import-type CreateWithdrawalBody from Shapes
 * @phpstan-import-type WithdrawalFilters from Shapes
 * @phpstan-import-type EventFilters from Shapes
 */
final class Withdrawals
{
    public function __construct(private readonly Client $client)
    {
    }

    /**
     * Sends money to a PIX key. Amount and fee are reserved immediately. `hold` in the answer says whether it is pending
     * review, and why.
     *
     * Safe to retry. Give your own `idempotencyKey`, such as payout number and try, so that it is also safe if your process
     * dies; else the SDK makes one for this call.
     *
     * ```php
     * $guiche->withdrawals->create([
     *     'amount' => 150_000,
     *     'pixKey' => ['key' => '+5511987654321', 'type' => 'PHONE'],
     *     'idempotencyKey' => 'payout-2026-0001-try-1',
     * ]);
     * ```
     *
     * @param CreateWithdrawalBody $input
     * @param Options $options
     * @throws \Guiche\Exception\InsufficientBalanceException the available balance does not cover amount and fee
     * @throws \Guiche\Exception\GuicheException `withdrawal_not_possible`: beyond a limit, which `errors` names;
     *     `payouts_stopped`
     */
    public function create(array $input, array $options = []): WithdrawalCreated
    {
        return $this->client->post('/withdrawal', WithdrawalCreated::class, $options, Client::withKey($input + ['method' => 'PIX']));
    }

    /**
     * A withdrawal as it is now.
     *
     * @param Options $options
     * @throws \Guiche\Exception\NotFoundException
     */
    public function get(string $id, array $options = []): Withdrawal
    {
        return $this->client->get('/withdrawal/' . Client::toSegment($id), Withdrawal::class, $options);
    }

    /**
     * Withdrawals, newest first; all filters must match.
     *
     * @param WithdrawalFilters $filters
     * @param Options $options
     * @return RecordList<Withdrawal>
     */
    public function list(array $filters = [], array $options = []): RecordList
    {
        return $this->client->list('/withdrawal', Withdrawal::class, $filters, $options);
    }

    /**
     * All matching withdrawals as CSV (RFC 4180), amounts in cents: a stream to read from.
     *
     * @param WithdrawalFilters $filters
     * @param Options $options
     * @return resource
     */
    public function export(array $filters = [], array $options = []): mixed
    {
        return $this->client->export('/withdrawal', $filters, $options);
    }

    /**
     * Cancels a withdrawal that was not sent yet. If it is canceled already, the answer is the same.
     *
     * @param Options $options
     * @throws \Guiche\Exception\GuicheException `withdrawal_not_possible` once it is PROCESSING or has ended
     */
    public function cancel(string $id, array $options = []): Withdrawal
    {
        return $this->client->post('/withdrawal/' . Client::toSegment($id) . '/cancel', Withdrawal::class, $options, isRepeatable: true);
    }

    /**
     * Confirms a withdrawal that is pending review because it looks like a duplicate (`hold` is `duplicate`). It is then
     * sent, or waits for the operator.
     *
     * @param Options $options
     * @throws \Guiche\Exception\GuicheException `withdrawal_not_possible` if it was never pending review as a duplicate, or
     *     has ended
     */
    public function confirm(string $id, array $options = []): Withdrawal
    {
        return $this->client->post('/withdrawal/' . Client::toSegment($id) . '/confirm', Withdrawal::class, $options, isRepeatable: true);
    }

    /**
     * Status changes of one withdrawal, newest first.
     *
     * @param EventFilters $filters
     * @param Options $options
     * @return RecordList<EventSummary>
     */
    public function events(string $id, array $filters = [], array $options = []): RecordList
    {
        return $this->client->list('/withdrawal/' . Client::toSegment($id) . '/event', EventSummary::class, $filters, $options);
    }
}
