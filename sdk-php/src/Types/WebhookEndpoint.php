<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** An address that receives the events of all records. */
final class WebhookEndpoint extends Model
{
    /** Identifier of the endpoint. */
    public readonly string $id;
    /** Where the events are sent. */
    public readonly string $url;
    /** Your own note, such as the system behind the address. */
    public readonly string $description;
    /** @var list<string> The types of events that are sent there; `["*"]` for all, including those of later versions. */
    public readonly array $eventTypes;
    /** Whether it receives events. */
    public readonly bool $enabled;
    /** @var null|'request'|'failing'|'gone' Request: by a request; failing: every attempt failed for five days; gone: it answered 410; null while enabled. */
    public readonly ?string $disabledReason;
    /** Since when it is disabled. */
    public readonly ?string $disabledAt;
    /** Since when every attempt has failed; null after one that succeeded. */
    public readonly ?string $failingSince;
    /** When it was registered. */
    public readonly string $createdAt;
    /** When it was last changed. */
    public readonly string $updatedAt;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['id'])) {
            $this->id = $data['id'];
        }
        if (isset($data['url'])) {
            $this->url = $data['url'];
        }
        if (isset($data['description'])) {
            $this->description = $data['description'];
        }
        if (isset($data['eventTypes'])) {
            $this->eventTypes = $data['eventTypes'];
        }
        if (isset($data['enabled'])) {
            $this->enabled = $data['enabled'];
        }
        $this->disabledReason = $data['disabledReason'] ?? null;
        $this->disabledAt = $data['disabledAt'] ?? null;
        $this->failingSince = $data['failingSince'] ?? null;
        if (isset($data['createdAt'])) {
            $this->createdAt = $data['createdAt'];
        }
        if (isset($data['updatedAt'])) {
            $this->updatedAt = $data['updatedAt'];
        }
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
