<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** The payment or return that was made. */
final class SandboxPaid extends Model
{
    /** Identifier of the Pix. */
    public readonly string $endToEndId;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['endToEndId'])) {
            $this->endToEndId = $data['endToEndId'];
        }
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
