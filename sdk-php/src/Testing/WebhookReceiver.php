<?php

declare(strict_types=1);

namespace Guiche\Testing;

use Guiche\Exception\WebhookVerificationException;
use Guiche\Webhook;
use Guiche\WebhookEvent;

/**
 * A merchant's receiver on the loopback address, for tests. It answers 204 to webhooks that verify, and 401 to those
 * that do not. PHP does one thing at a time, so webhooks are read only within `waitFor`: it accepts those that arrived
 * before, too.
 *
 * ```php
 * $receiver = new WebhookReceiver($secret);
 * $created = $guiche->transactions->create(['amount' => 2590, 'webhookUrl' => $receiver->url]);
 * $guiche->sandbox->pay(['uri' => $created->pixResponse->uri]);
 * $paid = $receiver->waitFor('transaction.paid', fn (WebhookEvent $event) => $event->data->id === $created->id);
 * ```
 */
final class WebhookReceiver
{
    private const WAIT_MS = 30_000;
    private const BODY_MAX_BYTES = 1_048_576;

    /** Give this as `webhookUrl`. */
    public readonly string $url;
    /** @var list<WebhookEvent> Webhooks that verified, in the order of arrival. The same event can be there twice. */
    public array $events = [];
    /** @var list<WebhookVerificationException> Errors of the webhooks that did not verify. */
    public array $refused = [];

    /** @var resource */
    private mixed $server;

    /**
     * @param string|list<string> $secret the client's `whsec_…` secret, or both during a change of secrets
     * @param int $port any free port by default
     * @param int|float $toleranceSeconds how many seconds the signature's time may differ from now; `INF` if the
     *     service has a test clock
     */
    public function __construct(private readonly string|array $secret, int $port = 0, private readonly int|float $toleranceSeconds = 300)
    {
        $server = stream_socket_server("tcp://127.0.0.1:$port", $code, $message);
        if ($server === false) {
            throw new \RuntimeException("The receiver cannot listen: $message");
        }
        $this->server = $server;
        $this->url = 'http://' . stream_socket_get_name($server, false) . '/';
    }

    /**
     * Returns the first event of this type for which `$fits` returns true. Events that arrived before the call count
     * too.
     *
     * @param null|callable(WebhookEvent): bool $fits
     * @throws \RuntimeException if none arrives in time
     */
    public function waitFor(string $type, ?callable $fits = null, int $timeoutMs = self::WAIT_MS): WebhookEvent
    {
        $endsAt = hrtime(true) + $timeoutMs * 1_000_000;
        for ($checked = 0; ; ) {
            for (; $checked < count($this->events); $checked += 1) {
                $event = $this->events[$checked];
                if ($event->type === $type && ($fits === null || $fits($event))) {
                    return $event;
                }
            }
            $left = ($endsAt - hrtime(true)) / 1e9;
            $connection = $left > 0 ? @stream_socket_accept($this->server, $left) : false;
            if ($connection === false) {
                $came = implode(', ', array_map(static fn (WebhookEvent $event): string => $event->type, $this->events)) ?: 'nothing';
                $notVerified = isset($this->refused[0]) ? " Refused: {$this->refused[0]->detail}" : '';
                throw new \RuntimeException("No matching $type arrived within $timeoutMs ms. Received: $came.$notVerified");
            }
            $this->answer($connection);
        }
    }

    public function close(): void
    {
        fclose($this->server);
    }

    /** @param resource $connection */
    private function answer(mixed $connection): void
    {
        $status = $this->receive($connection);
        @fwrite($connection, "HTTP/1.1 $status\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        fclose($connection);
    }

    /** @param resource $connection */
    private function receive(mixed $connection): string
    {
        $first = (string) fgets($connection);
        $headers = [];
        while (($line = trim((string) fgets($connection))) !== '') {
            [$name, $value] = explode(':', $line, 2) + [1 => ''];
            $headers[strtolower($name)] = trim($value);
        }
        $length = (int) ($headers['content-length'] ?? 0);
        if (!str_starts_with($first, 'POST ') || $length > self::BODY_MAX_BYTES) {
            return str_starts_with($first, 'POST ') ? '413 Content Too Large' : '405 Method Not Allowed';
        }
        $body = $length === 0 ? '' : (string) stream_get_contents($connection, $length);
        try {
            $this->events[] = Webhook::verify($this->secret, $headers, $body, $this->toleranceSeconds);
            return '204 No Content';
        } catch (WebhookVerificationException $error) {
            $this->refused[] = $error;
            return '401 Unauthorized';
        }
    }
}
