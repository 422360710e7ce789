<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

/** The status of a refund. A newer service may have more. */
final class RefundStatus
{
    public const PROCESSING = 'PROCESSING';
    public const REFUNDED = 'REFUNDED';
    public const FAILED = 'FAILED';
}
