<?php

declare(strict_types=1);

namespace Guiche\Http;

/** The source of access tokens. */
interface Tokens
{
    /** A token that is valid as far as is known. Null if none is sent. */
    public function get(): ?string;

    /** Called after the service refused the token: the next `get` returns another, if there is one. */
    public function drop(?string $token): void;
}
