<?php

declare(strict_types=1);

namespace Guiche\Exception;

/** 401: the credentials or the token are not valid. If a token was refused, the SDK has already tried once more. */
final class AuthenticationException extends GuicheException
{
}
