<?php

// Written by `npm run sdk:types` from docs/openapi.json. Edit that, not this file.

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
        $this->zipCode = $data['zipCode'] ?? self::missing('zipCode');
        $this->complement = $data['complement'] ?? null;
        $this->number = $data['number'] ?? self::missing('number');
        $this->street = $data['street'] ?? self::missing('street');
        $this->neighborhood = $data['neighborhood'] ?? self::missing('neighborhood');
        $this->city = $data['city'] ?? self::missing('city');
        $this->state = $data['state'] ?? self::missing('state');
        $this->country = $data['country'] ?? self::missing('country');
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
