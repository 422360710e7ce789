<?php

declare(strict_types=1);

namespace Guiche\Exception;

/** 404: no record has this id, it belongs to another client, or the service has no such route (the sandbox's). */
final class NotFoundException extends GuicheException
{
}
