<?php

declare(strict_types=1);

namespace Guiche\Http;

/** Tokens that the caller gets elsewhere, from an external provider for instance. */
final class GivenTokens implements Tokens
{
    /** @param \Closure(): ?string $getToken */
    public function __construct(private readonly \Closure $getToken)
    {
    }

    public function get(array $options): ?string
    {
        $token = ($this->getToken)();
        if ($token !== null && preg_match('/\A[\w.~+\/-]+=*\z/', $token) !== 1) {
            throw new \InvalidArgumentException('accessToken returned something that is not a token. Return the token alone, without "Bearer".');
        }
        return $token;
    }

    public function drop(?string $token): void
    {
    }
}
