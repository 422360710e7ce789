<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** A refund of a transaction. */
final class Refund extends Model
{
    /** Identifier. */
    public readonly string $id;
    /** Cents. */
    public readonly int $amount;
    /** @var 'PROCESSING'|'REFUNDED'|'FAILED' The status of a refund. */
    public readonly string $status;
    /** EndToEndId of the return. */
    public readonly ?string $endToEndRefund;
    /** Reason given in the request. */
    public readonly ?string $reason;
    /** When it was requested. */
    public readonly string $createdAt;

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
        if (isset($data['status'])) {
            $this->status = $data['status'];
        }
        $this->endToEndRefund = $data['endToEndRefund'] ?? null;
        $this->reason = $data['reason'] ?? null;
        if (isset($data['createdAt'])) {
            $this->createdAt = $data['createdAt'];
        }
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
