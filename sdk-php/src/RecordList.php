<?php

declare(strict_types=1);

namespace Guiche;

/**
 * A list, newest first. No request is sent until it is read, in one of these ways:
 *
 * ```php
 * foreach ($guiche->transactions->list(['status' => ['PAID']]) as $transaction) echo $transaction->id, "\n";
 * $page = $guiche->transactions->list(['perPage' => 50])->page();
 * $latest = $guiche->transactions->list()->all(limit: 10);
 * ```
 *
 * @template Entry of Model
 * @implements \IteratorAggregate<int, Entry>
 */
final class RecordList implements \IteratorAggregate
{
    /** The service's maximum, so that reading all pages takes the fewest requests. */
    private const PER_PAGE_MAX = 100;
    private const ALL_MAX = 10_000;

    /**
     * @param \Closure(array<string, mixed>): Page<Entry> $fetch
     * @param array<string, mixed> $filters
     */
    public function __construct(private readonly \Closure $fetch, private readonly array $filters)
    {
    }

    /**
     * One page: the first, unless you gave `page` or `cursor`. 20 items, unless you gave `perPage`. It has the exact
     * `total` and the `nextCursor`.
     *
     * @return Page<Entry>
     */
    public function page(): Page
    {
        return ($this->fetch)([]);
    }

    /**
     * Page after page to the end, from the requested one. 100 items each, unless you gave `perPage`.
     *
     * @return \Generator<int, Page<Entry>>
     */
    public function pages(): \Generator
    {
        $perPage = $this->filters['perPage'] ?? self::PER_PAGE_MAX;
        for ($more = ['perPage' => $perPage]; ;) {
            $page = ($this->fetch)($more);
            yield $page;
            if ($page->nextCursor === null) {
                return;
            }
            $more = ['perPage' => $perPage, 'page' => null, 'cursor' => $page->nextCursor];
        }
    }

    /**
     * Item after item, over all pages. After a `break` no further page is requested.
     *
     * @return \Generator<int, Entry>
     */
    public function getIterator(): \Generator
    {
        $index = 0;
        foreach ($this->pages() as $page) {
            foreach ($page->data as $item) {
                yield $index++ => $item;
            }
        }
    }

    /**
     * The items of all pages as an array: up to `limit` of them, if given.
     *
     * @return list<Entry>
     * @throws \OverflowException when there are more than 10,000 and no `limit` was given: read those one by one
     * @throws \InvalidArgumentException when `limit` is negative
     */
    public function all(?int $limit = null): array
    {
        if ($limit !== null && $limit < 0) {
            throw new \InvalidArgumentException('limit must be 0 or more.');
        }
        $items = [];
        if ($limit === 0) {
            return $items;
        }
        foreach ($this as $item) {
            if ($limit === null && count($items) === self::ALL_MAX) {
                throw new \OverflowException('There are more than ' . self::ALL_MAX . ' items. Read them with foreach, or give a limit.');
            }
            $items[] = $item;
            if (count($items) === $limit) {
                break;
            }
        }
        return $items;
    }
}
