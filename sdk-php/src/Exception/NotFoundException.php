<?php

declare(strict_types=1);

namespace Guiche\Exception;

/** 404: no record has this id, or it belongs to another merchant. */
final class NotFoundException extends GuicheException
{
}
