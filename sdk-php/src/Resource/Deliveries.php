<?php

declare(strict_types=1);

namespace Guiche\Resource;

use Guiche\Http\Client;
use Guiche\RecordList;
use Guiche\Types\Delivery;
use Guiche\Types\Resent;
use Guiche\Types\Shapes;

/**
 * Webhook deliveries and their attempts. Scopes: `webhook.read`, `webhook.write`.
 *
 * @phpstan-import-type Options from Client
 * @phpstan-import-type DeliveryFilters from Shapes
 */
final class Deliveries
{
    public function __construct(private readonly Client $client)
    {
    }

    /**
     * Deliveries, newest first, with their attempts, as long as those are kept.
     *
     * @param DeliveryFilters $filters
     * @param Options $options
     * @return RecordList<Delivery>
     */
    public function list(array $filters = [], array $options = []): RecordList
    {
        return $this->client->list('/webhook/delivery', Delivery::class, $filters, $options);
    }

    /**
     * Delivers an event again, with the full series of attempts: to every address that it was sent to, or to the endpoint
     * `endpointId`. The SDK does not repeat this call after a lost answer: each call may deliver once more.
     *
     * @param Options $options
     */
    public function resend(string $eventId, ?string $endpointId = null, array $options = []): Resent
    {
        $query = $endpointId === null ? '' : '?endpointId=' . Client::toSegment($endpointId);
        return $this->client->post('/webhook/delivery/' . Client::toSegment($eventId) . "/resend$query", Resent::class, $options);
    }
}
