<?php

declare(strict_types=1);

namespace Guiche;

use Guiche\Exception\WebhookVerificationException;

/** Webhooks are signed as Standard Webhooks defines it. */
final class Webhook
{
    private const TOLERANCE_SECONDS = 300;
    /** During a change of secrets there are two signatures. Anybody may send more, and each costs a comparison. */
    private const SIGNATURES_MAX = 8;
    private const SECRET_PREFIX = 'whsec_';

    /**
     * Verifies that a webhook is from Guichê and recent, and returns its event.
     *
     * ```php
     * try {
     *     $event = Webhook::verify($secret, getallheaders(), file_get_contents('php://input'));
     * } catch (WebhookVerificationException $error) {
     *     http_response_code(401);
     *     exit;
     * }
     * // This event comes again, for example after a partial refund: ship each order only once.
     * if ($event->type === 'transaction.paid') shipOnce($event->data->externalCode, $event->data->amountPaid);
     * http_response_code(204);
     * ```
     *
     * @param string|list<string> $secrets your client's `whsec_…` secret; both during a change of secrets
     * @param array<string, string|list<string>> $headers as received: `getallheaders()`, `$_SERVER`, or `getHeaders()` of a
     *     PSR-7 or Symfony request
     * @param string $rawBody as received: a body that was parsed and serialized again has another signature
     * @param int|float $toleranceSeconds how many seconds the signature's time may differ from now
     * @throws WebhookVerificationException if it cannot be trusted: answer 400 or 401
     * @throws \InvalidArgumentException if a secret is invalid, which no sender can cause
     */
    public static function verify(
        #[\SensitiveParameter] string|array $secrets,
        array $headers,
        string $rawBody,
        int|float $toleranceSeconds = self::TOLERANCE_SECONDS,
        ?\DateTimeInterface $now = null,
    ): WebhookEvent {
        $keys = array_map(self::readSecret(...), is_array($secrets) ? array_values($secrets) : [$secrets]);
        if ($keys === []) {
            throw new \InvalidArgumentException('A webhook secret is needed.');
        }
        $id = self::readHeader($headers, 'webhook-id');
        $seconds = self::readHeader($headers, 'webhook-timestamp');
        if (preg_match('/\A\d{1,12}\z/', $seconds) !== 1) {
            throw self::refuse('webhook-timestamp is not a number of seconds.');
        }
        // Also refuses if the tolerance is NAN.
        if (!(abs(($now?->getTimestamp() ?? time()) - (int) $seconds) <= $toleranceSeconds)) {
            throw self::refuse("The signature's time is more than $toleranceSeconds seconds from now. Is the clock of this machine right?");
        }
        if (!self::matches($keys, self::readHeader($headers, 'webhook-signature'), "$id.$seconds.$rawBody")) {
            throw self::refuse('No signature matches. Is this the secret of the client or of the webhook endpoint with this address, and is the body raw, not parsed and serialized again?');
        }
        try {
            $event = json_decode($rawBody, true, 512, JSON_THROW_ON_ERROR);
            return WebhookEvent::from(is_array($event) ? $event : throw new \UnexpectedValueException());
        } catch (\JsonException | \UnexpectedValueException | \TypeError $cause) {
            throw self::refuse('The body is signed, but it is not an event.', $cause);
        }
    }

    /** @internal The bytes of a `whsec_…` secret. */
    public static function readSecret(#[\SensitiveParameter] string $secret): string
    {
        $bytes = str_starts_with($secret, self::SECRET_PREFIX) ? base64_decode(substr($secret, strlen(self::SECRET_PREFIX)), true) : false;
        if ($bytes === false || $bytes === '') {
            // The message does not show the secret, which must not get into a log.
            throw new \InvalidArgumentException('A webhook secret is "whsec_" and base64. Is an environment variable missing?');
        }
        return $bytes;
    }

    /**
     * Compares every pair in constant time, so that the duration does not reveal how much of a signature matches.
     *
     * @param list<string> $keys
     */
    private static function matches(#[\SensitiveParameter] array $keys, string $header, string $signed): bool
    {
        $expected = array_map(static fn (string $key): string => hash_hmac('sha256', $signed, $key, true), $keys);
        // Signatures of other versions are ignored.
        $supported = array_filter(explode(' ', $header), static fn (string $signature): bool => str_starts_with($signature, 'v1,'));
        $isMatch = false;
        foreach (array_slice($supported, 0, self::SIGNATURES_MAX) as $signature) {
            $given = (string) base64_decode(substr($signature, 3), true);
            foreach ($expected as $one) {
                $isMatch = hash_equals($one, $given) || $isMatch;
            }
        }
        return $isMatch;
    }

    /** @param array<string, mixed> $headers */
    private static function readHeader(array $headers, string $name): string
    {
        $inServer = 'http_' . str_replace('-', '_', $name);
        foreach ($headers as $key => $value) {
            if (in_array(strtolower((string) $key), [$name, $inServer], true)) {
                $text = is_array($value) ? reset($value) : $value;
                if (is_string($text) && $text !== '') {
                    return $text;
                }
            }
        }
        throw self::refuse("The header $name is missing. Is the request from Guichê, and are all headers passed on?");
    }

    private static function refuse(string $detail, ?\Throwable $previous = null): WebhookVerificationException
    {
        return new WebhookVerificationException('webhook_not_verified', $detail, previous: $previous);
    }
}
