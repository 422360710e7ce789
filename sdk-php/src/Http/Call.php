<?php

declare(strict_types=1);

namespace Guiche\Http;

/** One call of the API, before it is sent. */
final class Call
{
    /**
     * @param string $path appended to the base address; parts from the caller have been checked
     * @param array<string, mixed> $query
     * @param null|array<string, mixed> $body
     * @param bool $isRepeatable true if sending the call twice has the same effect as sending it once, such as a GET or a
     *     call with an idempotency key
     * @param bool $isForm the body is sent as a form instead of JSON
     */
    public function __construct(
        public readonly string $method,
        public readonly string $path,
        public readonly array $query = [],
        public readonly ?array $body = null,
        public readonly ?string $idempotencyKey = null,
        public readonly bool $isRepeatable = false,
        public readonly bool $isForm = false,
        public readonly string $accept = 'application/json',
    ) {
    }
}
