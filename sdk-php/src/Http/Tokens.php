<?php

declare(strict_types=1);

namespace Guiche\Http;

/** The source of access tokens. */
interface Tokens
{
    /**
     * A token that is valid as far as is known. Null if none is sent.
     *
     * @param array{timeoutMs?: int, maxRetries?: int, endsAt?: int} $options the limits of the call that needs it
     */
    public function get(array $options): ?string;

    /** Called after the service refused the token: the next `get` returns another, if there is one. */
    public function drop(?string $token): void;
}
