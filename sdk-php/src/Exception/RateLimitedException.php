<?php

declare(strict_types=1);

namespace Guiche\Exception;

/** 429: more requests than the service accepts, after the SDK has waited and retried. */
final class RateLimitedException extends GuicheException
{
}
