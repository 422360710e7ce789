<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** One change of the available balance. Amounts are in cents. */
final class StatementEntry extends Model
{
    /** Number of the transfer. */
    public readonly int $id;
    /** @var 'payment'|'fee'|'debt_repaid'|'refund_reserved'|'refund_sent'|'refund_released'|'fee_returned'|'fee_return_reversed'|'infraction_blocked'|'infraction_returned'|'infraction_released'|'withdrawal_reserved'|'withdrawal_sent'|'withdrawal_released'|'withdrawal_returned'|'payment_held'|'held_returned'|'held_matched'|'match_undone'|'correction'|'fees_drawn'|'pay_in'|'debt_written_off'|'psp_fee'|'manual'|'moved_out'|'moved_in' The reason of a change of the available balance. */
    public readonly string $kind;
    /** Cents; negative if it left the available balance. */
    public readonly int $amount;
    /** The available balance after it, in cents. */
    public readonly int $balance;
    /** @var 'transaction'|'refund'|'infraction'|'withdrawal'|'suspense'|'correction'|'fee_draw'|'pay_in'|'write_off'|'psp_fee'|'manual_entry'|'move_out'|'move_in' */
    public readonly string $recordType;
    /** Identifier of the record that it was posted for. */
    public readonly string $recordId;
    /** The transaction of that record: GET /transaction/{id} shows the refund, the dispute or the correction. */
    public readonly ?string $transactionId;
    /** Description of an entry whose recordId cannot be looked up: an entry of the operator, such as pay_in or manual_entry, or a correction. Null for all others. */
    public readonly ?string $description;
    /** @var null|'payment'|'return'|'payout' Of a correction: what the list of the PSP and the ledger differed about. Null for all others. */
    public readonly ?string $correctedSubject;
    /** Of a correction: the reference of that payment, return or payout. */
    public readonly ?string $correctedReference;
    /** When it was posted. */
    public readonly string $createdAt;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['id'])) {
            $this->id = $data['id'];
        }
        if (isset($data['kind'])) {
            $this->kind = $data['kind'];
        }
        if (isset($data['amount'])) {
            $this->amount = $data['amount'];
        }
        if (isset($data['balance'])) {
            $this->balance = $data['balance'];
        }
        if (isset($data['recordType'])) {
            $this->recordType = $data['recordType'];
        }
        if (isset($data['recordId'])) {
            $this->recordId = $data['recordId'];
        }
        $this->transactionId = $data['transactionId'] ?? null;
        $this->description = $data['description'] ?? null;
        $this->correctedSubject = $data['correctedSubject'] ?? null;
        $this->correctedReference = $data['correctedReference'] ?? null;
        if (isset($data['createdAt'])) {
            $this->createdAt = $data['createdAt'];
        }
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
