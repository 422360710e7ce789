<?php

declare(strict_types=1);

namespace Guiche\Exception;

/** 422: `errors` names every field that is missing or wrong. It is empty if the body is not valid JSON. */
final class ValidationException extends GuicheException
{
}
