<?php

declare(strict_types=1);

namespace Guiche\Resource;

use Guiche\Http\Client;
use Guiche\RecordList;
use Guiche\Types\Shapes;
use Guiche\Types\WebhookEndpoint;
use Guiche\Types\WebhookEndpointCreated;
use Guiche\Types\WebhookEndpointSecret;
use Guiche\Types\WebhookTest;

/**
 * Addresses that receive the events of your transactions and withdrawals, in addition to the `webhookUrl` of a
 * single transaction or withdrawal. Each has its own filter of event types and its own secret. Scopes: `webhook.read`,
 * `webhook.write`. To register or enable one, or to change its `url` or `eventTypes`, the token also needs the scope to
 * read the records whose events it receives: `transaction.read`, `withdrawal.read`.
 *
 * @phpstan-import-type Options from Client
 * @phpstan-import-type CreateWebhookEndpointBody from Shapes
 * @phpstan-import-type UpdateWebhookEndpointBody from Shapes
 * @phpstan-import-type WebhookEndpointFilters from Shapes
 */
final class WebhookEndpoints
{
    public function __construct(private readonly Client $client)
    {
    }

    /**
     * Registers an address. Only this response contains the secret that verifies its deliveries. After a lost answer
     * the SDK does not repeat the call: find the endpoint with `list()`, and get a secret with `rotateSecret()`.
     *
     * @param CreateWebhookEndpointBody $input
     * @param Options $options
     */
    public function create(array $input, array $options = []): WebhookEndpointCreated
    {
        return $this->client->post('/webhook-endpoint', WebhookEndpointCreated::class, $options, $input);
    }

    /**
     * Endpoints, newest first.
     *
     * @param WebhookEndpointFilters $filters
     * @param Options $options
     * @return RecordList<WebhookEndpoint>
     */
    public function list(array $filters = [], array $options = []): RecordList
    {
        return $this->client->list('/webhook-endpoint', WebhookEndpoint::class, $filters, $options);
    }

    /** @param Options $options */
    public function get(string $id, array $options = []): WebhookEndpoint
    {
        return $this->client->get('/webhook-endpoint/' . Client::toSegment($id), WebhookEndpoint::class, $options);
    }

    /**
     * Changes an endpoint, or disables or enables it. Fields that are left out stay as they are.
     *
     * @param UpdateWebhookEndpointBody $input
     * @param Options $options
     */
    public function update(string $id, array $input, array $options = []): WebhookEndpoint
    {
        return $this->client->patch('/webhook-endpoint/' . Client::toSegment($id), WebhookEndpoint::class, $options, $input);
    }

    /**
     * Deletes an endpoint. Its pending deliveries are canceled.
     *
     * @param Options $options
     */
    public function delete(string $id, array $options = []): void
    {
        $this->client->delete('/webhook-endpoint/' . Client::toSegment($id), $options);
    }

    /**
     * Makes a new secret. The former one also signs for `overlapHours`, 24 by default. Give your own `secretId`, a UUID
     * of version 4, and repeat the call with it if the answer is lost. With another id, or none, the call is a second
     * rotation: the secret that your receivers still use ends at once, since only the newest two secrets sign. The SDK
     * repeats the call after a lost answer only if it has a `secretId`.
     *
     * @param Options $options
     */
    public function rotateSecret(string $id, ?int $overlapHours = null, ?string $secretId = null, array $options = []): WebhookEndpointSecret
    {
        $body = array_filter(['overlapHours' => $overlapHours, 'secretId' => $secretId], static fn (mixed $value): bool => $value !== null);
        return $this->client->post('/webhook-endpoint/' . Client::toSegment($id) . '/secret', WebhookEndpointSecret::class, $options, $body, isRepeatable: $secretId !== null);
    }

    /**
     * Sends a signed test of the type `webhook.test` at once, and returns the receiver's answer.
     *
     * @param Options $options
     */
    public function test(string $id, array $options = []): WebhookTest
    {
        return $this->client->post('/webhook-endpoint/' . Client::toSegment($id) . '/test', WebhookTest::class, $options);
    }
}
