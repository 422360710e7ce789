<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** The balance. Amounts are in cents. */
final class Balance extends Model
{
    /** Cents that may be withdrawn or refunded. */
    public readonly int $available;
    /** Cents set aside for withdrawals and refunds in progress. */
    public readonly int $reserved;
    /** Cents set aside while payments are disputed (MED). */
    public readonly int $blocked;
    /** Cents owed, because money that had to be taken back, such as that of a disputed payment, was already spent; later payments repay it first. */
    public readonly int $debt;
    /** The moment of this balance. */
    public readonly string $at;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['available'])) {
            $this->available = $data['available'];
        }
        if (isset($data['reserved'])) {
            $this->reserved = $data['reserved'];
        }
        if (isset($data['blocked'])) {
            $this->blocked = $data['blocked'];
        }
        if (isset($data['debt'])) {
            $this->debt = $data['debt'];
        }
        if (isset($data['at'])) {
            $this->at = $data['at'];
        }
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
