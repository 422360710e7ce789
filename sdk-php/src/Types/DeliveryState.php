<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

/** Waiting: behind an earlier event of its record; pending: to be tried; delivered; exhausted: all attempts failed; gone: the receiver answered 410; canceled: its endpoint was disabled or deleted. A newer service may have more. */
final class DeliveryState
{
    public const WAITING = 'waiting';
    public const PENDING = 'pending';
    public const DELIVERED = 'delivered';
    public const EXHAUSTED = 'exhausted';
    public const GONE = 'gone';
    public const CANCELED = 'canceled';
}
