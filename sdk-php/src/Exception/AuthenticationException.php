<?php

declare(strict_types=1);

namespace Guiche\Exception;

/** 401: the credentials or the token are not valid. The SDK has already tried a new token. */
final class AuthenticationException extends GuicheException
{
}
