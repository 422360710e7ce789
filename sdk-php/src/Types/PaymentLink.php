<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** The page where a customer pays a transaction. */
final class PaymentLink extends Model
{
    /** Send the customer here; whoever has the address can see the page. */
    public readonly string $url;
    /** When its code expires; the page continues to show the state of the payment. Null while there is no code. */
    public readonly ?string $expiresAt;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['url'])) {
            $this->url = $data['url'];
        }
        $this->expiresAt = $data['expiresAt'] ?? null;
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
