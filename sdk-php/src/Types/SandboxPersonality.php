<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** The fault profile of the simulated bank. */
final class SandboxPersonality extends Model
{
    /** @var 'honest'|'forgetful'|'late'|'careless'|'forged'|'quarrelsome'|'hostile' The named fault profiles of the simulated bank. */
    public readonly string $name;
    /** The same seed has the same effect on the same payments. */
    public readonly int $seed;
    /** The faults of the simulated bank, with the probability of each, from 0 to 1. */
    public readonly SandboxTraits $traits;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['name'])) {
            $this->name = $data['name'];
        }
        if (isset($data['seed'])) {
            $this->seed = $data['seed'];
        }
        if (isset($data['traits'])) {
            $this->traits = SandboxTraits::from($data['traits']);
        }
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
