<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** The person or company that paid or was paid. */
final class AccountHolder extends Model
{
    /** @var 'PF'|'PJ' */
    public readonly string $type;
    public readonly string $name;
    /** CPF or CNPJ, bare. */
    public readonly string $document;
    /** An account at a bank. */
    public readonly BankAccount $bankAccount;
    /** A PIX key: the address of an account. */
    public readonly PixKey $pix;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['type'])) {
            $this->type = $data['type'];
        }
        if (isset($data['name'])) {
            $this->name = $data['name'];
        }
        if (isset($data['document'])) {
            $this->document = $data['document'];
        }
        if (isset($data['bankAccount'])) {
            $this->bankAccount = BankAccount::from($data['bankAccount']);
        }
        if (isset($data['pix'])) {
            $this->pix = PixKey::from($data['pix']);
        }
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
