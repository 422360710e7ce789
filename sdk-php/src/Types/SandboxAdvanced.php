<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** What has come due because time has passed. */
final class SandboxAdvanced extends Model
{
    /** How much time has passed with this call. */
    public readonly int $advancedSeconds;
    /** How much time has passed with all calls of this merchant. */
    public readonly int $offsetSeconds;
    /** What has come due. Its effects follow within seconds. */
    public readonly SandboxDue $due;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['advancedSeconds'])) {
            $this->advancedSeconds = $data['advancedSeconds'];
        }
        if (isset($data['offsetSeconds'])) {
            $this->offsetSeconds = $data['offsetSeconds'];
        }
        if (isset($data['due'])) {
            $this->due = SandboxDue::from($data['due']);
        }
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
