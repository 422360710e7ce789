<?php

// Written by `npm run sdk:types` from docs/openapi.json. Edit that, not this file.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** An account at a bank. */
final class BankAccount extends Model
{
    public readonly string $type;
    public readonly string $branch;
    public readonly string $number;
    public readonly string $digit;
    /** ISPB code of the bank. */
    public readonly string $ispb;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        $this->type = $data['type'] ?? self::missing('type');
        $this->branch = $data['branch'] ?? self::missing('branch');
        $this->number = $data['number'] ?? self::missing('number');
        $this->digit = $data['digit'] ?? self::missing('digit');
        $this->ispb = $data['ispb'] ?? self::missing('ispb');
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
