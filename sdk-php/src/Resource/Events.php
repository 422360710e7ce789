<?php

declare(strict_types=1);

namespace Guiche\Resource;

use Guiche\Http\Client;
use Guiche\RecordList;
use Guiche\Types\EventSummary;
use Guiche\Types\Shapes;

/**
 * Status changes of transactions and withdrawals. Scope: `webhook.read`.
 *
 * @phpstan-import-type Options from Client
 * @phpstan-import-type EventFilters from Shapes
 */
final class Events
{
    public function __construct(private readonly Client $client)
    {
    }

    /**
     * Events of all records, newest first.
     *
     * @param EventFilters $filters
     * @param Options $options
     * @return RecordList<EventSummary>
     */
    public function list(array $filters = [], array $options = []): RecordList
    {
        return $this->client->list('/event', EventSummary::class, $filters, $options);
    }
}
