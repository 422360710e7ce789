<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** A dispute (MED) of a transaction. */
final class Dispute extends Model
{
    /** Identifier. */
    public readonly string $id;
    /** Disputed amount in cents. */
    public readonly int $amount;
    /** Cents returned to the payer under it. */
    public readonly int $amountReturned;
    /** Cents blocked for it now. */
    public readonly int $amountBlocked;
    /** @var 'OPEN'|'ACCEPTED'|'RETURNED'|'REJECTED'|'CANCELED' The status of a dispute (MED). */
    public readonly string $status;
    /** Reason given by the acquirer or the operator. */
    public readonly ?string $reason;
    /** When it was opened. */
    public readonly string $openedAt;
    /** Deadline of the decision, if the acquirer gives one. */
    public readonly ?string $deadline;
    /** When it ended. */
    public readonly ?string $finishedAt;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['id'])) {
            $this->id = $data['id'];
        }
        if (isset($data['amount'])) {
            $this->amount = $data['amount'];
        }
        if (isset($data['amountReturned'])) {
            $this->amountReturned = $data['amountReturned'];
        }
        if (isset($data['amountBlocked'])) {
            $this->amountBlocked = $data['amountBlocked'];
        }
        if (isset($data['status'])) {
            $this->status = $data['status'];
        }
        $this->reason = $data['reason'] ?? null;
        if (isset($data['openedAt'])) {
            $this->openedAt = $data['openedAt'];
        }
        $this->deadline = $data['deadline'] ?? null;
        $this->finishedAt = $data['finishedAt'] ?? null;
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
