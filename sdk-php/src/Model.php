<?php

declare(strict_types=1);

namespace Guiche;

/**
 * A record of the API. Its properties are those that this version of the SDK knows. `toArray()` also has the fields that a
 * newer service has added. A property whose field an older service does not send has no value: read it with
 * `$record->field ?? null`.
 */
abstract class Model implements \JsonSerializable
{
    /** @param array<string, mixed> $received */
    protected function __construct(private readonly array $received)
    {
    }

    /** @param array<string, mixed> $data */
    abstract public static function from(array $data): static;

    /**
     * The record as received, including fields that a newer service has added.
     *
     * @return array<string, mixed>
     */
    public function toArray(): array
    {
        return $this->received;
    }

    /** @return array<string, mixed> */
    public function jsonSerialize(): array
    {
        return $this->received;
    }

    protected static function missing(string $field): never
    {
        throw new \UnexpectedValueException("The answer has no field \"$field\".");
    }
}
