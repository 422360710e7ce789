<?php

declare(strict_types=1);

namespace Guiche\Http;

/**
 * Keeps an access token between requests of PHP, which share no memory: without a store, each request that calls the API
 * fetches a token first. Whoever can read the store can use the token until it expires, by default after a quarter of an
 * hour.
 */
interface TokenStore
{
    /** @return null|array{token: string, renewAt: int} */
    public function load(string $key): ?array;

    /** @param array{token: string, renewAt: int} $token `renewAt` in Unix seconds */
    public function save(string $key, array $token): void;

    public function remove(string $key): void;
}
