<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** The dispute. */
final class SandboxDisputed extends Model
{
    /** Names the dispute in a decision. */
    public readonly string $reference;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['reference'])) {
            $this->reference = $data['reference'];
        }
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
