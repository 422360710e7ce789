<?php

declare(strict_types=1);

namespace Guiche;

/** An event of the feed. */
final class FeedEvent extends WebhookEvent
{
    /** 1, 2, 3 … without a gap, unless you filter the feed. */
    public readonly int $number;
    /** Save it when you have processed the event, and send it as `after`. */
    public readonly string $position;

    /** @param array<string, mixed> $event */
    protected function __construct(array $event)
    {
        parent::__construct($event);
        $this->number = $event['number'] ?? self::missing('number');
        $this->position = $event['position'] ?? self::missing('position');
    }
}
