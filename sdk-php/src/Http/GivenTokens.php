<?php

declare(strict_types=1);

namespace Guiche\Http;

/**
 * Access tokens from a function that the application supplies, such as one that gets them from an external provider.
 */
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
            throw new \InvalidArgumentException('accessToken must return the token without "Bearer".');
        }
        return $token;
    }

    public function drop(?string $token): void
    {
        // Nothing is kept: the next get() calls the function again.
    }
}
