<?php

declare(strict_types=1);

namespace Guiche\Exception;

/** 5xx: the service, or a proxy in front of it, failed. */
final class ServerException extends GuicheException
{
}
