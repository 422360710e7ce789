<?php

declare(strict_types=1);

namespace Guiche\Resource;

use Guiche\Exception\ConnectionException;
use Guiche\Exception\GuicheException;
use Guiche\FeedEvent;
use Guiche\FeedPage;
use Guiche\Http\Client;
use Guiche\RecordList;
use Guiche\Types\EventSummary;
use Guiche\Types\Shapes;
use Guiche\WebhookEvent;

/**
 * Status changes of transactions and withdrawals. Scopes: `webhook.read`, and for payloads also `transaction.read`
 * and `withdrawal.read`, or only one of them if `type` selects one kind.
 *
 * @phpstan-import-type Options from Client
 * @phpstan-import-type EventFilters from Shapes
 * @phpstan-import-type FeedQuery from Shapes
 */
final class Events
{
    /** The longest that the service accepts. */
    private const LONGEST_WAIT_SECONDS = 20;
    private const FOLLOW_TIMEOUT_MS = 30_000;
    private const FIRST_PAUSE_MS = 1_000;
    private const LONGEST_PAUSE_MS = 30_000;
    /** So that a wrong Retry-After does not stop the events for long. */
    private const LONGEST_RETRY_AFTER_SECONDS = 3_600;

    public function __construct(private readonly Client $client)
    {
    }

    /**
     * Follows the feed for ever: every event once, in order, as soon as it is committed. Save `position` when you have
     * processed the event, in the same transaction if you can, and begin there after a restart. Use it in a program
     * of the command line that keeps running. A web page or a cron job calls `read`, which returns the events that exist
     * now.
     *
     * While the service cannot be reached, limits the rate or answers with a 5xx, it tries again, with growing pauses
     * of up to half a minute, or as long as the service asks for, up to an hour.
     *
     * ```php
     * foreach ($guiche->events->follow(['after' => loadPosition() ?? 'start']) as $event) {
     *     // This event comes again, for example after a partial refund: ship each order only once.
     *     if ($event->type === 'transaction.paid') shipOnce($event->data->externalCode, $event->data->amountPaid);
     *     savePosition($event->position);
     * }
     * ```
     *
     * @param FeedQuery $query `after` is `start` by default; `end` skips the past
     * @param null|callable(GuicheException): void $onInterruption called before each pause after an error
     * @param Options $options
     * @return \Generator<int, FeedEvent>
     * @throws GuicheException `position_unknown` if the feed does not have the position: the service's database was restored
     *     to an earlier moment, or the position is from elsewhere; and any error that a repeat cannot solve
     */
    public function follow(array $query = [], ?callable $onInterruption = null, array $options = []): \Generator
    {
        $options += ['timeoutMs' => self::FOLLOW_TIMEOUT_MS];
        // If there is no event, the service answers only when the wait is over. That must be well within the time
        // limit.
        $query += ['after' => 'start', 'wait' => min(self::LONGEST_WAIT_SECONDS, intdiv($options['timeoutMs'], 1500))];
        for ($pauseMs = self::FIRST_PAUSE_MS; ;) {
            $startedAt = hrtime(true);
            $retryAfterMs = 0;
            try {
                $page = $this->read($query, $options);
                foreach ($page->data as $event) {
                    yield $event;
                }
                $query['after'] = $page->next;
                $pauseMs = self::FIRST_PAUSE_MS;
                // The page is empty and came without the wait: the service already holds too many waiting requests or
                // is shutting down, or the time limit is too short for a wait.
                if ($page->data !== [] || $page->hasMore || hrtime(true) - $startedAt > self::FIRST_PAUSE_MS * 1_000_000) {
                    continue;
                }
            } catch (GuicheException $error) {
                // After any other error, a later request would get the same answer.
                if (!$error instanceof ConnectionException && !in_array($error->status, [408, 429], true) && ($error->status ?? 0) < 500) {
                    throw $error;
                }
                if ($onInterruption !== null) {
                    $onInterruption($error);
                }
                $retryAfterMs = (int) ceil(1000 * min(self::LONGEST_RETRY_AFTER_SECONDS, $error->retryAfterSeconds ?? 0));
            }
            $this->client->sleep(max($pauseMs, $retryAfterMs));
            $pauseMs = min(self::LONGEST_PAUSE_MS, 2 * $pauseMs);
        }
    }

    /**
     * One page of the feed, oldest first: the events after a position. Read on from its `next`.
     *
     * @param FeedQuery $query
     * @param Options $options
     */
    public function read(array $query, array $options = []): FeedPage
    {
        return $this->client->get('/event', FeedPage::class, $options, $query);
    }

    /**
     * One event, as its webhook has it.
     *
     * @param Options $options
     */
    public function get(string $eventId, array $options = []): WebhookEvent
    {
        return $this->client->get('/event/' . Client::toSegment($eventId), WebhookEvent::class, $options);
    }

    /**
     * Events of all transactions and withdrawals, newest first, each with the state of its delivery to the record's
     * `webhookUrl`.
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
