<?php

declare(strict_types=1);

namespace Guiche\Exception;

/** 429: more requests than the service accepts. The SDK has retried, unless it would have to wait over a minute. */
final class RateLimitedException extends GuicheException
{
}
