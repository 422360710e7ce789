<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** The seller. */
final class Seller extends Model
{
    public readonly string $name;
    /** A CPF or CNPJ. */
    public readonly TaxDocument $document;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['name'])) {
            $this->name = $data['name'];
        }
        if (isset($data['document'])) {
            $this->document = TaxDocument::from($data['document']);
        }
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
