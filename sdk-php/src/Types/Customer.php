<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** The customer. */
final class Customer extends Model
{
    public readonly ?string $ip;
    public readonly string $name;
    public readonly string $email;
    /** A CPF or CNPJ. */
    public readonly TaxDocument $document;
    public readonly ?string $landline;
    public readonly ?string $mobilePhone;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        $this->ip = $data['ip'] ?? null;
        if (isset($data['name'])) {
            $this->name = $data['name'];
        }
        if (isset($data['email'])) {
            $this->email = $data['email'];
        }
        if (isset($data['document'])) {
            $this->document = TaxDocument::from($data['document']);
        }
        $this->landline = $data['landline'] ?? null;
        $this->mobilePhone = $data['mobilePhone'] ?? null;
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
