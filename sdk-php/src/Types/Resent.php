<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** A delivery whose schedule starts again. */
final class Resent extends Model
{
    /** Identifier of the event. */
    public readonly string $eventId;
    /** @var 'pending'|'waiting' */
    public readonly string $state;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['eventId'])) {
            $this->eventId = $data['eventId'];
        }
        if (isset($data['state'])) {
            $this->state = $data['state'];
        }
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
