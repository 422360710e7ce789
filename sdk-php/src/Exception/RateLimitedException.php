<?php

declare(strict_types=1);

namespace Guiche\Exception;

/**
 * 429: more requests than the service accepts. It is thrown after the SDK's retries, or at once if the service asks to
 * wait for more than a minute.
 */
final class RateLimitedException extends GuicheException
{
}
