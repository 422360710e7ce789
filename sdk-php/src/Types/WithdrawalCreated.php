<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** The answer to a withdrawal request. */
final class WithdrawalCreated extends Model
{
    /** Identifier of the withdrawal. */
    public readonly string $id;
    public readonly ?string $externalCode;
    /** Cents. */
    public readonly int $amount;
    /** @var 'WITHDRAWAL' */
    public readonly string $type;
    /** @var 'PENDING' */
    public readonly string $status;
    /** @var null|'approval'|'duplicate' Present while it is pending review and not sent: it waits for the operator (approval), or it looks like a recent one and waits for POST /withdrawal/{id}/confirm (duplicate). */
    public readonly ?string $hold;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['id'])) {
            $this->id = $data['id'];
        }
        $this->externalCode = $data['externalCode'] ?? null;
        if (isset($data['amount'])) {
            $this->amount = $data['amount'];
        }
        if (isset($data['type'])) {
            $this->type = $data['type'];
        }
        if (isset($data['status'])) {
            $this->status = $data['status'];
        }
        $this->hold = $data['hold'] ?? null;
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
