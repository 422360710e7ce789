<?php

declare(strict_types=1);

namespace Guiche\Exception;

/**
 * 500 `acquirer_unavailable`: the PSP did not answer in time, or reports a charge as paid without showing its code
 * or payment. The transaction is kept and its outcome will be found: fetch it later by `transactionId`. After no
 * answer you can also repeat the call: a creation with the same `idempotencyKey`, a cancellation as it was.
 */
final class AcquirerUnavailableException extends GuicheException
{
}
