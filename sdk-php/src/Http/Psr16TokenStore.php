<?php

declare(strict_types=1);

namespace Guiche\Http;

use Psr\SimpleCache\CacheInterface;

/** A token store in any PSR-16 cache, such as Laravel's (`cache()->store()`) or Symfony's. */
final class Psr16TokenStore implements TokenStore
{
    public function __construct(private readonly CacheInterface $cache)
    {
    }

    public function load(string $key): ?array
    {
        $token = $this->cache->get($key);
        return is_array($token) && isset($token['token'], $token['renewAt']) ? $token : null;
    }

    public function save(string $key, array $token): void
    {
        $this->cache->set($key, $token, max(1, $token['renewAt'] - time()));
    }

    public function remove(string $key): void
    {
        $this->cache->delete($key);
    }
}
