<?php

// Written by `npm run sdk:types` from docs/openapi.json. Edit that, not this file.

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
