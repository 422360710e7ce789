<?php

// Written by `npm run sdk:types` from docs/openapi.json. Edit that, not this file.

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
