<?php

declare(strict_types=1);

namespace Guiche\Resource;

use Guiche\Http\Client;
use Guiche\RecordList;
use Guiche\Types\Shapes;
use Guiche\Types\StatementEntry;

/**
 * Everything that changed the available balance. Scope: `balance.read`.
 *
 * @phpstan-import-type Options from Client
 * @phpstan-import-type StatementFilters from Shapes
 */
final class Statement
{
    public function __construct(private readonly Client $client)
    {
    }

    /**
     * Entries, newest first; amounts in cents, each with the balance after it.
     *
     * @param StatementFilters $filters
     * @param Options $options
     * @return RecordList<StatementEntry>
     */
    public function list(array $filters = [], array $options = []): RecordList
    {
        return $this->client->list('/statement', StatementEntry::class, $filters, $options);
    }

    /**
     * All matching entries as CSV (RFC 4180), amounts in cents: a stream to read from.
     *
     * @param StatementFilters $filters
     * @param Options $options
     * @return resource
     */
    public function export(array $filters = [], array $options = []): mixed
    {
        return $this->client->export('/statement', $filters, $options);
    }
}
