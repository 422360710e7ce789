<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** The faults of the simulated bank, with the probability of each, from 0 to 1. */
final class SandboxTraits extends Model
{
    public readonly int|float|null $without_txid;
    public readonly int|float|null $slow;
    public readonly int|float|null $late;
    public readonly int|float|null $twice;
    public readonly int|float|null $other_amount;
    public readonly int|float|null $other_payer;
    public readonly int|float|null $returned;
    public readonly int|float|null $contested;
    public readonly int|float|null $callback_never;
    public readonly int|float|null $callback_twice;
    public readonly int|float|null $callback_late;
    public readonly int|float|null $callback_forged;
    public readonly int|float|null $answer_lost;
    public readonly int|float|null $payout_rejected;
    public readonly int|float|null $return_rejected;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        $this->without_txid = $data['without_txid'] ?? null;
        $this->slow = $data['slow'] ?? null;
        $this->late = $data['late'] ?? null;
        $this->twice = $data['twice'] ?? null;
        $this->other_amount = $data['other_amount'] ?? null;
        $this->other_payer = $data['other_payer'] ?? null;
        $this->returned = $data['returned'] ?? null;
        $this->contested = $data['contested'] ?? null;
        $this->callback_never = $data['callback_never'] ?? null;
        $this->callback_twice = $data['callback_twice'] ?? null;
        $this->callback_late = $data['callback_late'] ?? null;
        $this->callback_forged = $data['callback_forged'] ?? null;
        $this->answer_lost = $data['answer_lost'] ?? null;
        $this->payout_rejected = $data['payout_rejected'] ?? null;
        $this->return_rejected = $data['return_rejected'] ?? null;
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
