<?php

declare(strict_types=1);

namespace Guiche\Exception;

/** 403: the client lacks a scope, which the operator can grant, is not registered, or has moved to another address. */
final class PermissionException extends GuicheException
{
}
