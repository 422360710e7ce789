<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** Money that went back to the payer other than by a refund. */
final class PaymentReturn extends Model
{
    /** EndToEndId of the return. */
    public readonly ?string $endToEndRefund;
    /** Cents; negative if it corrects an earlier entry. */
    public readonly int $amount;
    /** The dispute under which it was returned; null if the bank returned it without one. */
    public readonly ?string $disputeId;
    /** When it was returned. */
    public readonly string $date;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        $this->endToEndRefund = $data['endToEndRefund'] ?? null;
        if (isset($data['amount'])) {
            $this->amount = $data['amount'];
        }
        $this->disputeId = $data['disputeId'] ?? null;
        if (isset($data['date'])) {
            $this->date = $data['date'];
        }
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
