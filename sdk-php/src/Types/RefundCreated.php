<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** The answer to a refund request. */
final class RefundCreated extends Model
{
    /** Identifier of the refund. */
    public readonly string $id;
    /** The transaction that is refunded. */
    public readonly string $transactionId;
    /** Cents. */
    public readonly int $amount;
    /** @var 'REFUND' */
    public readonly string $type;
    /** @var 'PROCESSING' */
    public readonly string $status;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['id'])) {
            $this->id = $data['id'];
        }
        if (isset($data['transactionId'])) {
            $this->transactionId = $data['transactionId'];
        }
        if (isset($data['amount'])) {
            $this->amount = $data['amount'];
        }
        if (isset($data['type'])) {
            $this->type = $data['type'];
        }
        if (isset($data['status'])) {
            $this->status = $data['status'];
        }
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
