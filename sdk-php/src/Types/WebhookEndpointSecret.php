<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** A new secret of a webhook endpoint. */
final class WebhookEndpointSecret extends Model
{
    /** Verifies the deliveries from now on. Shown only in this response. */
    public readonly string $secret;
    /** Until when deliveries also carry the signature by the former secret. */
    public readonly string $formerExpiresAt;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['secret'])) {
            $this->secret = $data['secret'];
        }
        if (isset($data['formerExpiresAt'])) {
            $this->formerExpiresAt = $data['formerExpiresAt'];
        }
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
