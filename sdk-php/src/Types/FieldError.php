<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** One error of a request. */
final class FieldError extends Model
{
    /** A path such as `items[0].unitPrice`. */
    public readonly string $field;
    public readonly string $code;
    public readonly string $message;
    /** The smallest or largest value that is allowed. */
    public readonly ?int $limit;
    /** @var null|'cents'|'bytes' The unit of `limit`; absent for a plain number, or a count of characters or items. */
    public readonly ?string $unit;
    /** The record that the error is about, if the address does not name it. */
    public readonly ?string $recordId;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['field'])) {
            $this->field = $data['field'];
        }
        if (isset($data['code'])) {
            $this->code = $data['code'];
        }
        if (isset($data['message'])) {
            $this->message = $data['message'];
        }
        $this->limit = $data['limit'] ?? null;
        $this->unit = $data['unit'] ?? null;
        $this->recordId = $data['recordId'] ?? null;
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
