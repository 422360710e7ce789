<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** The answer of a receiver to a test. */
final class WebhookTest extends Model
{
    /** `webhook-id` of the test. */
    public readonly string $eventId;
    /** Whether the receiver answered 2xx within 15 seconds. */
    public readonly bool $delivered;
    /** HTTP status of the response; null when there was none. */
    public readonly ?int $status;
    /** Why it failed. */
    public readonly ?string $error;
    /** @var null|'no_answer'|'redirected'|'gone'|'address_not_allowed'|'private_address'|'connection_refused'|'connection_closed'|'connection_timeout'|'connection_failed'|'unreachable'|'name_not_found'|'name_without_address'|'name_server_failed'|'name_server_timeout'|'head_too_long'|'certificate_expired'|'certificate_self_signed'|'certificate_untrusted'|'certificate_of_other_name'|'certificate_without_chain'|'not_http' The error as a code; null without an error, or if its text gives the HTTP status or other details. */
    public readonly ?string $errorCode;
    public readonly int $durationInMilliseconds;
    /** The first 2 kB of the response’s body; null if there was no response or it had no text. */
    public readonly ?string $response;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['eventId'])) {
            $this->eventId = $data['eventId'];
        }
        if (isset($data['delivered'])) {
            $this->delivered = $data['delivered'];
        }
        $this->status = $data['status'] ?? null;
        $this->error = $data['error'] ?? null;
        $this->errorCode = $data['errorCode'] ?? null;
        if (isset($data['durationInMilliseconds'])) {
            $this->durationInMilliseconds = $data['durationInMilliseconds'];
        }
        $this->response = $data['response'] ?? null;
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
