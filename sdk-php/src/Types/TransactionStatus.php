<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

/** The status of a transaction. A newer service may have more. */
final class TransactionStatus
{
    public const PENDING = 'PENDING';
    public const PIX_QRCODE_GENERATED = 'PIX_QRCODE_GENERATED';
    public const PAID = 'PAID';
    public const PROCESSING_REFUND = 'PROCESSING_REFUND';
    public const PROCESSING_INFRACTION = 'PROCESSING_INFRACTION';
    public const REFUNDED = 'REFUNDED';
    public const INFRACTION = 'INFRACTION';
    public const FAILED = 'FAILED';
    public const BLOCKED = 'BLOCKED';
}
