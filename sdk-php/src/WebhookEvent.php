<?php

declare(strict_types=1);

namespace Guiche;

use Guiche\Types\Transaction;
use Guiche\Types\Withdrawal;

/** A status change of a transaction or withdrawal, or a test. */
class WebhookEvent extends Model
{
    /** The id of the event, equal to the header `webhook-id`. The same event can arrive twice, with the same id. */
    public readonly string $id;
    /** What happened, such as `transaction.paid`. A newer service may have more types: answer those with 2xx too. */
    public readonly string $type;
    /** When it happened. */
    public readonly string $timestamp;
    /**
     * Counts the record's changes from 1. An event is stale if its number is not above the last one that you saw of this
     * record. 0 if the event has none, such as `webhook.test`: that one is never stale.
     */
    public readonly int $sequence;
    /**
     * The transaction or withdrawal as `GET` returned it at that moment. Null for another event: `toArray()` has all of
     * it.
     */
    public readonly Transaction|Withdrawal|null $data;

    /** @param array<string, mixed> $event */
    protected function __construct(array $event)
    {
        parent::__construct($event);
        $this->type = $event['type'] ?? self::missing('type');
        if (isset($event['id'])) {
            $this->id = $event['id'];
        }
        if (isset($event['timestamp'])) {
            $this->timestamp = $event['timestamp'];
        }
        $data = $event['data'] ?? self::missing('data');
        $this->sequence = $data['sequence'] ?? 0;
        $this->data = match (strstr($this->type, '.', true)) {
            'transaction' => Transaction::from($data),
            'withdrawal' => Withdrawal::from($data),
            default => null,
        };
    }

    public static function from(array $data): static
    {
        return new static($data);
    }
}
