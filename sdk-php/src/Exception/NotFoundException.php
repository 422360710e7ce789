<?php

declare(strict_types=1);

namespace Guiche\Exception;

<<<<<<< HEAD
/** 404: no record has this id, or it belongs to another merchant. */
=======
/** 404: no record has this id, it belongs to another client, or the service has no such route (the sandbox's). */
>>>>>>> 1add452eb619ce0fbfc851c199914e05f01d4b0d
final class NotFoundException extends GuicheException
{
}
