<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** A CPF or CNPJ. */
final class TaxDocument extends Model
{
    /** Without punctuation. */
    public readonly string $value;
    /** @var 'CPF'|'CNPJ' */
    public readonly string $type;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['value'])) {
            $this->value = $data['value'];
        }
        if (isset($data['type'])) {
            $this->type = $data['type'];
        }
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
