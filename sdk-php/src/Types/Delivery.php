<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** The delivery of an event to your receiver, with its attempts. */
final class Delivery extends Model
{
    /** Identifier of the event: `webhook-id`. */
    public readonly string $eventId;
    /** The registered endpoint; null for the record’s own `webhookUrl`. */
    public readonly ?string $endpointId;
    public readonly string $type;
    /** Identifier of the transaction or withdrawal. */
    public readonly string $recordId;
    public readonly int $sequence;
    public readonly string $url;
    /** @var 'waiting'|'pending'|'delivered'|'exhausted'|'gone'|'canceled' Waiting: behind an earlier event of its record; pending: to be tried; delivered; exhausted: all attempts failed; gone: the receiver answered 410; canceled: its endpoint was disabled or deleted. */
    public readonly string $state;
    /** When it is tried next. */
    public readonly ?string $nextAttemptAt;
    /** HTTP status of the last response. */
    public readonly ?int $lastStatus;
    /** Why the last attempt failed. */
    public readonly ?string $lastError;
    /** @var null|'no_answer'|'redirected'|'gone'|'address_not_allowed'|'private_address'|'connection_refused'|'connection_closed'|'connection_timeout'|'connection_failed'|'unreachable'|'name_not_found'|'name_without_address'|'name_server_failed'|'name_server_timeout'|'head_too_long'|'certificate_expired'|'certificate_self_signed'|'certificate_untrusted'|'certificate_of_other_name'|'certificate_without_chain'|'not_http' The error as a code; null without an error, or if its text gives the HTTP status or other details. */
    public readonly ?string $lastErrorCode;
    /** When the event happened. */
    public readonly string $createdAt;
    /** When it was delivered or given up. */
    public readonly ?string $finishedAt;
    /** @var list<DeliveryAttempt> */
    public readonly array $attempts;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['eventId'])) {
            $this->eventId = $data['eventId'];
        }
        $this->endpointId = $data['endpointId'] ?? null;
        if (isset($data['type'])) {
            $this->type = $data['type'];
        }
        if (isset($data['recordId'])) {
            $this->recordId = $data['recordId'];
        }
        if (isset($data['sequence'])) {
            $this->sequence = $data['sequence'];
        }
        if (isset($data['url'])) {
            $this->url = $data['url'];
        }
        if (isset($data['state'])) {
            $this->state = $data['state'];
        }
        $this->nextAttemptAt = $data['nextAttemptAt'] ?? null;
        $this->lastStatus = $data['lastStatus'] ?? null;
        $this->lastError = $data['lastError'] ?? null;
        $this->lastErrorCode = $data['lastErrorCode'] ?? null;
        if (isset($data['createdAt'])) {
            $this->createdAt = $data['createdAt'];
        }
        $this->finishedAt = $data['finishedAt'] ?? null;
        if (isset($data['attempts'])) {
            $this->attempts = array_map(DeliveryAttempt::from(...), $data['attempts']);
        }
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
