<?php

declare(strict_types=1);

namespace Guiche\Exception;

/** 5xx: the service, or a proxy in front of it, failed or is overloaded; or payouts are frozen (`payouts_stopped`). */
final class ServerException extends GuicheException
{
}
