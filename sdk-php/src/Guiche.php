<?php

declare(strict_types=1);

namespace Guiche;

use Guiche\Http\Client;
use Guiche\Http\ClientCredentials;
use Guiche\Http\CurlTransport;
use Guiche\Http\GivenTokens;
use Guiche\Http\Sender;
use Guiche\Http\TokenStore;
use Guiche\Http\Transport;
use Guiche\Resource\Balances;
use Guiche\Resource\Deliveries;
use Guiche\Resource\Events;
use Guiche\Resource\Sandbox;
use Guiche\Resource\Statement;
use Guiche\Resource\Transactions;
use Guiche\Resource\WebhookEndpoints;
use Guiche\Resource\Withdrawals;

/**
 * A client of one Guichê service. It holds the access token and renews it in time.
 *
 * Amounts are integers in cents; dates are strings in ISO 8601. A request throws a `GuicheException` when the service
 * refuses it, and a `ConnectionException` when there is no answer; `events->follow` tries again instead.
 *
 * ```php
 * $guiche = new Guiche('https://pix.example.com', $clientId, $clientSecret);
 * $created = $guiche->transactions->create(['amount' => 2590, 'externalCode' => 'order-2026-0001']);
 * echo $created->pixResponse->uri;
 * ```
 */
final class Guiche
{
    public const VERSION = '0.1.0';

    private const TIMEOUT_MS = 30_000;
    private const MAX_RETRIES = 4;

    /** Charging by PIX: create, fetch, list, cancel, refund. */
    public readonly Transactions $transactions;
    /** Paying out by PIX. */
    public readonly Withdrawals $withdrawals;
    /** The balance, now or at a past time. */
    public readonly Balances $balance;
    /** Everything that changed the available balance. */
    public readonly Statement $statement;
    /** Events of transactions and withdrawals: each change of status, and for example partial refunds. */
    public readonly Events $events;
    /** Webhook deliveries, and delivering an event again. */
    public readonly Deliveries $deliveries;
    /** Addresses that receive the events of all transactions and withdrawals. */
    public readonly WebhookEndpoints $webhookEndpoints;
    /** Controls of the simulated PIX network, if the acquirer is the simulator. */
    public readonly Sandbox $sandbox;

    /**
     * @param string $baseUrl the address of the service, such as `https://pix.example.com`
     * @param ?string $clientId as `npx guiche client create` printed it, or from `data/sandbox.json`
     * @param ?string $clientSecret keep it on the server, outside of the document root
     * @param null|\Closure(): ?string $accessToken instead of the credentials: returns a token that you got elsewhere, or
     *     null to send none; called for each call, and again when a token is refused
     * @param int $timeoutMs time limit of one try; for an export, the longest time without receiving data; not for a
     *     `Psr18Transport`, which has its own
     * @param int $maxRetries how many times a call is retried where that is safe; 0 disables
     *     retries, except with a new token
     * @param ?Transport $transport instead of cURL: a `Psr18Transport` around your HTTP client, for instance
     * @param ?TokenStore $tokenStore keeps the access token between PHP requests, which share no memory
     * @param null|\Closure(int): void $sleep for tests: called with milliseconds instead of waiting
     */
    public function __construct(
        string $baseUrl,
        ?string $clientId = null,
        #[\SensitiveParameter] ?string $clientSecret = null,
        ?\Closure $accessToken = null,
        int $timeoutMs = self::TIMEOUT_MS,
        int $maxRetries = self::MAX_RETRIES,
        ?Transport $transport = null,
        ?TokenStore $tokenStore = null,
        ?\Closure $sleep = null,
    ) {
        $serviceUrl = self::readBaseUrl($baseUrl);
        $sender = new Sender(
            baseUrl: $serviceUrl,
            transport: $transport ?? new CurlTransport(),
            timeoutMs: $timeoutMs,
            maxRetries: $maxRetries,
            sleep: $sleep ?? static function (int $milliseconds): void {
                usleep($milliseconds * 1000);
            },
        );
        $tokens = match (true) {
            $accessToken !== null => new GivenTokens($accessToken),
            ($clientId ?? '') !== '' && ($clientSecret ?? '') !== '' => new ClientCredentials($sender, $serviceUrl, $clientId, $clientSecret, $tokenStore),
            default => throw new \InvalidArgumentException('Guiche needs clientId and clientSecret, or accessToken. Is an environment variable missing?'),
        };
        $client = new Client($sender, $tokens);
        $this->transactions = new Transactions($client);
        $this->withdrawals = new Withdrawals($client);
        $this->balance = new Balances($client);
        $this->statement = new Statement($client);
        $this->events = new Events($client);
        $this->deliveries = new Deliveries($client);
        $this->webhookEndpoints = new WebhookEndpoints($client);
        $this->sandbox = new Sandbox($client);
    }

    private static function readBaseUrl(string $text): string
    {
        $parts = parse_url($text);
        $isBare = is_array($parts) && !array_intersect_key($parts, array_flip(['user', 'pass', 'query', 'fragment']));
        if (!$isBare || !in_array(strtolower($parts['scheme'] ?? ''), ['http', 'https'], true) || ($parts['host'] ?? '') === '') {
            // The message does not show the URL, which may contain a password.
            throw new \InvalidArgumentException('baseUrl must be an http or https address without credentials, query or fragment, such as https://pix.example.com');
        }
        return rtrim($text, '/');
    }
}
