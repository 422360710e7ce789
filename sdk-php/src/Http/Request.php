<?php

declare(strict_types=1);

namespace Guiche\Http;

/** What a transport sends. */
final class Request
{
    /**
     * @param array<string, string> $headers
     * @param null|resource $sink the body of the answer is written here, instead of into a string
     */
    public function __construct(
        public readonly string $method,
        public readonly string $url,
        public readonly array $headers,
        public readonly ?string $body,
        public readonly int $timeoutMs,
        public readonly mixed $sink = null,
    ) {
    }
}
