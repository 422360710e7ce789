<?php

declare(strict_types=1);

namespace Guiche;

/** Events after a position. */
final class FeedPage extends Model
{
    /** @var list<FeedEvent> */
    public readonly array $data;
    /** Send it as `after` for the next page. */
    public readonly string $next;
    /** True: there is more to read now. */
    public readonly bool $hasMore;

    /** @param array<string, mixed> $page */
    protected function __construct(array $page)
    {
        parent::__construct($page);
        $this->data = array_map(FeedEvent::from(...), $page['data'] ?? self::missing('data'));
        $this->next = $page['next'] ?? self::missing('next');
        $this->hasMore = $page['hasMore'] ?? self::missing('hasMore');
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
