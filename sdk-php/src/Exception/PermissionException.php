<?php

declare(strict_types=1);

namespace Guiche\Exception;

/** 403: the client lacks a scope, which the operator can grant, or is not registered; or its merchant has moved. */
final class PermissionException extends GuicheException
{
}
