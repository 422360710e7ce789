<?php

declare(strict_types=1);

namespace Guiche\Exception;

/**
 * 403: the client lacks a scope, which the operator can grant; or it is not registered; or new charges of its merchant
 * are created at another address (`merchant_moved`).
 */
final class PermissionException extends GuicheException
{
}
