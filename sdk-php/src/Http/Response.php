<?php

declare(strict_types=1);

namespace Guiche\Http;

/** What a transport received. */
final class Response
{
    /**
     * @param array<string, string> $headers names in lower case
     * @param string $body empty if the request has a sink
     */
    public function __construct(public readonly int $status, public readonly array $headers, public readonly string $body)
    {
    }
}
