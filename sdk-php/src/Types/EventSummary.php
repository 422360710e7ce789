<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** One status change, and the state of its delivery. */
final class EventSummary extends Model
{
    /** Identifier of the event: `webhook-id` of its delivery. */
    public readonly string $id;
    /** Such as transaction.paid. */
    public readonly string $type;
    /** @var 'transaction'|'withdrawal' */
    public readonly string $recordType;
    /** Identifier of the transaction or withdrawal. */
    public readonly string $recordId;
    /** Number of this status change of the record, from 1. */
    public readonly int $sequence;
    /** When it happened. */
    public readonly string $createdAt;
    /** State of its delivery to the record’s `webhookUrl`; null when it has none. */
    public readonly ?string $delivery;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['id'])) {
            $this->id = $data['id'];
        }
        if (isset($data['type'])) {
            $this->type = $data['type'];
        }
        if (isset($data['recordType'])) {
            $this->recordType = $data['recordType'];
        }
        if (isset($data['recordId'])) {
            $this->recordId = $data['recordId'];
        }
        if (isset($data['sequence'])) {
            $this->sequence = $data['sequence'];
        }
        if (isset($data['createdAt'])) {
            $this->createdAt = $data['createdAt'];
        }
        $this->delivery = $data['delivery'] ?? null;
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
