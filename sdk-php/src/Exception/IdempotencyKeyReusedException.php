<?php

declare(strict_types=1);

namespace Guiche\Exception;

/** 422: the idempotency key was already used for a request with different content. Use a new key for a new record. */
final class IdempotencyKeyReusedException extends GuicheException
{
}
