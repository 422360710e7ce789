<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** One request to your receiver. */
final class DeliveryAttempt extends Model
{
    public readonly int $number;
    /** Start of the attempt. */
    public readonly string $startedAt;
    public readonly int $durationInMilliseconds;
    /** HTTP status of the response; null when there was none. */
    public readonly ?int $status;
    /** Why the attempt failed. */
    public readonly ?string $error;
    /** @var null|'no_answer'|'redirected'|'gone'|'address_not_allowed'|'private_address'|'connection_refused'|'connection_closed'|'connection_timeout'|'connection_failed'|'unreachable'|'name_not_found'|'name_without_address'|'name_server_failed'|'name_server_timeout'|'head_too_long'|'certificate_expired'|'certificate_self_signed'|'certificate_untrusted'|'certificate_of_other_name'|'certificate_without_chain'|'not_http' The error as a code; null without an error, or if its text gives the HTTP status or other details. */
    public readonly ?string $errorCode;
    /** The first 2 kB of the response’s body; null if there was no response or it had no text. */
    public readonly ?string $response;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['number'])) {
            $this->number = $data['number'];
        }
        if (isset($data['startedAt'])) {
            $this->startedAt = $data['startedAt'];
        }
        if (isset($data['durationInMilliseconds'])) {
            $this->durationInMilliseconds = $data['durationInMilliseconds'];
        }
        $this->status = $data['status'] ?? null;
        $this->error = $data['error'] ?? null;
        $this->errorCode = $data['errorCode'] ?? null;
        $this->response = $data['response'] ?? null;
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
