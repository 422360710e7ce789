<?php

declare(strict_types=1);

namespace Guiche;

/**
 * A page of a list.
 *
 * @template Entry of Model
 */
final class Page
{
    /** @param list<Entry> $data */
    private function __construct(
        /** Number of items on all pages. */
        public readonly int $total,
        public readonly int $totalPages,
        /** Counts from 1. */
        public readonly int $currentPage,
        public readonly int $perPage,
        public readonly array $data,
        /** Send it as `cursor` to get the next page. Null on the last page. */
        public readonly ?string $nextCursor,
    ) {
    }

    /**
     * @template Item of Model
     * @param array<string, mixed> $page
     * @param class-string<Item> $class
     * @return self<Item>
     */
    public static function from(array $page, string $class): self
    {
        $data = array_map(static fn (array $item): Model => $class::from($item), $page['data'] ?? null);
        return new self(
            $page['total'] ?? null,
            $page['totalPages'] ?? null,
            $page['currentPage'] ?? null,
            $page['perPage'] ?? null,
            $data,
            $page['nextCursor'] ?? null,
        );
    }
}
