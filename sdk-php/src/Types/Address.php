<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** The delivery address of a physical product. */
final class Address extends Model
{
    public readonly string $zipCode;
    public readonly ?string $complement;
    public readonly string $number;
    public readonly string $street;
    public readonly string $neighborhood;
    public readonly string $city;
    public readonly string $state;
    public readonly string $country;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['zipCode'])) {
            $this->zipCode = $data['zipCode'];
        }
        $this->complement = $data['complement'] ?? null;
        if (isset($data['number'])) {
            $this->number = $data['number'];
        }
        if (isset($data['street'])) {
            $this->street = $data['street'];
        }
        if (isset($data['neighborhood'])) {
            $this->neighborhood = $data['neighborhood'];
        }
        if (isset($data['city'])) {
            $this->city = $data['city'];
        }
        if (isset($data['state'])) {
            $this->state = $data['state'];
        }
        if (isset($data['country'])) {
            $this->country = $data['country'];
        }
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
