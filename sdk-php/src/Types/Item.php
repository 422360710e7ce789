<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** An item of the purchase. */
final class Item extends Model
{
    public readonly string $title;
    public readonly ?string $description;
    /** Cents. */
    public readonly int $unitPrice;
    public readonly int $quantity;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['title'])) {
            $this->title = $data['title'];
        }
        $this->description = $data['description'] ?? null;
        if (isset($data['unitPrice'])) {
            $this->unitPrice = $data['unitPrice'];
        }
        if (isset($data['quantity'])) {
            $this->quantity = $data['quantity'];
        }
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
