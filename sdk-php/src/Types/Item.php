<?php

// Written by `npm run sdk:types` from docs/openapi.json. Edit that, not this file.

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
        $this->title = $data['title'] ?? self::missing('title');
        $this->description = $data['description'] ?? null;
        $this->unitPrice = $data['unitPrice'] ?? self::missing('unitPrice');
        $this->quantity = $data['quantity'] ?? self::missing('quantity');
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
