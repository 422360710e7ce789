<?php

declare(strict_types=1);

namespace Guiche\Exception;

/**
 * 500 `acquirer_unavailable`: the PSP did not answer in time, so the outcome is not known yet. The transaction is kept and
 * its outcome will be found: fetch it by `transactionId`, or repeat the request with `idempotencyKey`.
 */
final class AcquirerUnavailableException extends GuicheException
{
}
