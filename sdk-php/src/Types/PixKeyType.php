<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

/** The types of PIX keys. A newer service may have more. */
final class PixKeyType
{
    public const CPF = 'CPF';
    public const CNPJ = 'CNPJ';
    public const EMAIL = 'EMAIL';
    public const PHONE = 'PHONE';
    public const EVP = 'EVP';
}
