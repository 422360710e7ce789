<?php

declare(strict_types=1);

namespace Guiche\Testing;

use Guiche\Http\Sender;
use Guiche\Webhook;
use Guiche\WebhookEvent;

/** A delivery as your receiver gets it. */
final class SignedWebhook
{
    /** @param array<string, string> $headers */
    private function __construct(public readonly array $headers, public readonly string $body)
    {
    }

    /**
     * Signs an event, or any text, as Guichê signs its webhooks. Two secrets give two signatures, as during a change of
     * secrets.
     *
     * @param string|list<string> $secrets
     * @param ?string $id `webhook-id`: the event's id by default
     * @param ?int $timestamp of the signature, in Unix seconds: now by default
     */
    public static function of(string|array $secrets, WebhookEvent|string $event, ?string $id = null, ?int $timestamp = null): self
    {
        $body = is_string($event) ? $event : json_encode($event, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE);
        $id ??= is_string($event) ? Sender::newKey() : $event->id;
        $timestamp ??= time();
        $signatures = array_map(
            static fn (string $secret): string => 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", Webhook::readSecret($secret), true)),
            is_array($secrets) ? $secrets : [$secrets],
        );
        return new self([
            'content-type' => 'application/json',
            'webhook-id' => $id,
            'webhook-timestamp' => (string) $timestamp,
            'webhook-signature' => implode(' ', $signatures),
        ], $body);
    }
}
