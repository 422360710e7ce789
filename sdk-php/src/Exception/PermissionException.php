<?php

declare(strict_types=1);

namespace Guiche\Exception;

<<<<<<< HEAD
/** 403: the client lacks a scope, which the operator can grant, or is not registered; or its merchant has moved. */
=======
/** 403: the client lacks a scope, which the operator can grant, is not registered, or has moved to another address. */
>>>>>>> 1add452eb619ce0fbfc851c199914e05f01d4b0d
final class PermissionException extends GuicheException
{
}
