<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

/** The status of a withdrawal. A newer service may have more. */
final class WithdrawalStatus
{
    public const PENDING = 'PENDING';
    public const PROCESSING = 'PROCESSING';
    public const PROCESSED = 'PROCESSED';
    public const FAILED = 'FAILED';
    public const CANCELED = 'CANCELED';
    public const REFUNDED = 'REFUNDED';
    public const REJECTED = 'REJECTED';
}
