<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** A PIX key: the address of an account. */
final class PixKey extends Model
{
    public readonly string $key;
    /** @var 'CPF'|'CNPJ'|'EMAIL'|'PHONE'|'EVP' The types of PIX keys. */
    public readonly string $type;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['key'])) {
            $this->key = $data['key'];
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
