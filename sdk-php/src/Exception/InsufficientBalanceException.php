<?php

declare(strict_types=1);

namespace Guiche\Exception;

/** 422: the available balance does not cover amount and fee. */
final class InsufficientBalanceException extends GuicheException
{
}
