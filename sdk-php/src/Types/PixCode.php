<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** The code that a payer pays: as text to copy, and as a QR image. */
final class PixCode extends Model
{
    /** Copy-and-paste code (BR Code). */
    public readonly string $uri;
    /** The same as a PNG image, as a data URL. */
    public readonly string $qrCodeBase64;
    /** When the code expires. */
    public readonly string $expirationDate;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['uri'])) {
            $this->uri = $data['uri'];
        }
        if (isset($data['qrCodeBase64'])) {
            $this->qrCodeBase64 = $data['qrCodeBase64'];
        }
        if (isset($data['expirationDate'])) {
            $this->expirationDate = $data['expirationDate'];
        }
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
