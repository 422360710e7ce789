<?php

declare(strict_types=1);

namespace Guiche\Exception;

/**
 * 422: the PSP refused to create a charge, and the transaction has failed; or it refused to cancel one, which can still
 * be paid. `detail` has the reason, `transactionId` the transaction.
 */
final class AcquirerRefusedException extends GuicheException
{
}
