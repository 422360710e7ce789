<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

/** The status of a dispute (MED). A newer service may have more. */
final class DisputeStatus
{
    public const OPEN = 'OPEN';
    public const ACCEPTED = 'ACCEPTED';
    public const RETURNED = 'RETURNED';
    public const REJECTED = 'REJECTED';
    public const CANCELED = 'CANCELED';
}
