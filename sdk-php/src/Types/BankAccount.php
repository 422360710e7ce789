<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** An account at a bank. */
final class BankAccount extends Model
{
    public readonly string $type;
    public readonly string $branch;
    public readonly string $number;
    public readonly string $digit;
    /** ISPB code of the bank. */
    public readonly string $ispb;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['type'])) {
            $this->type = $data['type'];
        }
        if (isset($data['branch'])) {
            $this->branch = $data['branch'];
        }
        if (isset($data['number'])) {
            $this->number = $data['number'];
        }
        if (isset($data['digit'])) {
            $this->digit = $data['digit'];
        }
        if (isset($data['ispb'])) {
            $this->ispb = $data['ispb'];
        }
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
