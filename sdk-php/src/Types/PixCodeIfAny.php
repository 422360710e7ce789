<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** The code of a transaction. All three fields are null if the acquirer has given no code. */
final class PixCodeIfAny extends Model
{
    /** Copy-and-paste code (BR Code). */
    public readonly ?string $uri;
    /** The same as a PNG image, as a data URL. */
    public readonly ?string $qrCodeBase64;
    /** When the code expires. */
    public readonly ?string $expirationDate;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        $this->uri = $data['uri'] ?? null;
        $this->qrCodeBase64 = $data['qrCodeBase64'] ?? null;
        $this->expirationDate = $data['expirationDate'] ?? null;
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
