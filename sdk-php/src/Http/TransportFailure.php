<?php

declare(strict_types=1);

namespace Guiche\Http;

/** The service could not be reached, the connection broke, or the time limit passed. */
final class TransportFailure extends \RuntimeException
{
    public function __construct(string $message, public readonly bool $isTimeout = false, ?\Throwable $previous = null)
    {
        parent::__construct($message, 0, $previous);
    }
}
