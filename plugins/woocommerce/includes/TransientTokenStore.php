<?php

declare(strict_types=1);

namespace Guiche\WooCommerce;

use Guiche\Http\TokenStore;

/** Keeps the access token between requests. Without it, each checkout would fetch one first. */
final class TransientTokenStore implements TokenStore
{
    public function load(string $key): ?array
    {
        $token = get_transient($key);
        return is_array($token) && isset($token['token'], $token['renewAt']) ? $token : null;
    }

    public function save(string $key, array $token): void
    {
        set_transient($key, $token, max(1, $token['renewAt'] - time()));
    }

    public function remove(string $key): void
    {
        delete_transient($key);
    }
}
