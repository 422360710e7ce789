<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** A status that the record had or has. */
final class TransactionStatusEntry extends Model
{
    /** @var 'PENDING'|'PIX_QRCODE_GENERATED'|'PAID'|'PROCESSING_REFUND'|'PROCESSING_INFRACTION'|'REFUNDED'|'INFRACTION'|'FAILED'|'BLOCKED' The status of a transaction. */
    public readonly string $status;
    /** When the status was reached. */
    public readonly string $date;
    /** Time spent in the status; null for the current one. */
    public readonly ?int $durationInMilliseconds;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['status'])) {
            $this->status = $data['status'];
        }
        if (isset($data['date'])) {
            $this->date = $data['date'];
        }
        $this->durationInMilliseconds = $data['durationInMilliseconds'] ?? null;
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
