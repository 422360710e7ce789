<?php

declare(strict_types=1);

namespace Guiche\Exception;

/** 422: the PSP refused the request. Nothing was charged; `detail` has the reason, `transactionId` the failed transaction. */
final class AcquirerRefusedException extends GuicheException
{
}
