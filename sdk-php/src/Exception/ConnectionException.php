<?php

declare(strict_types=1);

namespace Guiche\Exception;

/**
 * No answer: `errorCode` is `connection_failed` or `timeout`, and `getPrevious()` says why. It is not known whether the
 * request was carried out. Repeated with the same `idempotencyKey`, it is carried out only once.
 */
final class ConnectionException extends GuicheException
{
}
