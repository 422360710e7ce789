<?php

declare(strict_types=1);

namespace Guiche\Tests;

use Guiche\Exception\GuicheException;
use Guiche\Guiche;
use Guiche\Http\Request;
use Guiche\Http\Response;
use Guiche\Http\TransportFailure;
use Guiche\Testing\TestEvent;
use Guiche\Types\EventSummary;
use PHPUnit\Framework\TestCase;

final class ListsTest extends TestCase
{
    public function testAListIsReadToItsEndFromTheRequestedPageOn(): void
    {
        $transport = new FakeTransport([self::page(['a', 'b'], 'next'), self::page(['c'], null)]);
        $list = $transport->guiche()->events->list(['perPage' => 2, 'page' => 3]);
        self::assertSame([], $transport->requests);
        self::assertSame(['a', 'b', 'c'], array_map(static fn (EventSummary $event): string => $event->id, iterator_to_array($list)));
        self::assertSame(['perPage=2&page=3', 'perPage=2&cursor=next'], self::queries($transport));
    }

    public function testAListRequestsNoMorePagesThanAreRead(): void
    {
        $transport = new FakeTransport([self::page(['a', 'b'], 'next')]);
        self::assertCount(2, $transport->guiche()->events->list()->all(limit: 2));
        self::assertSame([], $transport->guiche()->events->list()->all(limit: 0));
        self::assertSame(['perPage=100'], self::queries($transport));
        $this->expectExceptionMessage('limit must be');
        $transport->guiche()->events->list()->all(limit: -1);
    }

    public function testFiltersTakeDatesAndListsAndPersonalDataIsSentInTheBody(): void
    {
        $transport = new FakeTransport([self::page([], null), self::page([], null)]);
        $guiche = $transport->guiche();
        $date = new \DateTimeImmutable('2026-11-01 00:00:00', new \DateTimeZone('America/Sao_Paulo'));
        $filters = ['startDate' => $date, 'status' => ['PAID', 'REFUNDED'], 'externalCode' => null];
        $guiche->transactions->list($filters)->page();
        $guiche->transactions->list([...$filters, 'customerDocument' => '52998224725'])->page();
        self::assertSame(['startDate=2026-11-01T03%3A00%3A00.000Z&status=PAID&status=REFUNDED', ''], self::queries($transport));
        self::assertSame(['POST', 'https://pix.example.com/transaction/search'], [$transport->requests[1]->method, $transport->requests[1]->url]);
        self::assertSame('{"startDate":"2026-11-01T03:00:00.000Z","status":["PAID","REFUNDED"],"customerDocument":"52998224725"}', $transport->requests[1]->body);
    }

    public function testAnExportIsCompleteEvenAfterAFailedAttempt(): void
    {
        $transport = new FakeTransport([new Response(502, [], 'half of'), new Response(200, ['content-type' => 'text/csv; charset=utf-8'], "id,amount\r\n1,2590\r\n")]);
        $csv = $transport->guiche()->statement->export();
        self::assertSame("id,amount\r\n1,2590\r\n", stream_get_contents($csv));
        self::assertSame('text/csv', $transport->requests[0]->headers['Accept']);
    }

    /**
     * @dataProvider callsWithoutJson
     * @param \Closure(Guiche): mixed $call
     */
    public function testThePageOfAProxyIsNotTheAnswer(\Closure $call): void
    {
        $transport = new FakeTransport([new Response(200, ['content-type' => 'text/html'], '<h1>Maintenance</h1>')]);
        $this->expectException(GuicheException::class);
        $this->expectExceptionMessage('unexpected_answer');
        $call($transport->guiche());
    }

    /** @return iterable<string, array{\Closure(Guiche): mixed}> */
    public static function callsWithoutJson(): iterable
    {
        yield 'a deletion' => [static fn (Guiche $guiche) => $guiche->webhookEndpoints->delete('an-id')];
        yield 'an export' => [static fn (Guiche $guiche) => $guiche->statement->export()];
    }

    public function testTheFeedIsFollowedThroughInterruptions(): void
    {
        $page = static fn (int $number): Response => FakeTransport::json(200, [
            'data' => [['number' => $number, 'position' => "$number-9f6c1b5a"] + TestEvent::create('transaction.paid')->toArray()],
            'next' => "$number-9f6c1b5a",
            'hasMore' => false,
        ]);
        $busy = FakeTransport::problem(429, 'rate_limited', ...['retry-after' => '90']);
        $late = new Response(408, [], '');
        $transport = new FakeTransport([$page(1), $late, new TransportFailure('connection reset'), $page(2), $busy, FakeTransport::problem(422, 'position_unknown')]);
        $seen = [];
        $interruptions = 0;
        $error = RequestsTest::thrownBy(static function () use ($transport, &$seen, &$interruptions): void {
            foreach ($transport->guiche(maxRetries: 0)->events->follow(['type' => ['transaction.paid']], onInterruption: static function () use (&$interruptions): void {
                $interruptions += 1;
            }) as $event) {
                $seen[] = $event->number;
            }
        });
        self::assertSame([[1, 2], 3, 'position_unknown', [1000, 2000, 90_000]], [$seen, $interruptions, $error->errorCode, $transport->pauses]);
        self::assertSame(['start', '1-9f6c1b5a', '1-9f6c1b5a', '1-9f6c1b5a', '2-9f6c1b5a', '2-9f6c1b5a'], array_map(static function (string $query): string {
            parse_str($query, $values);
            return $values['after'];
        }, self::queries($transport)));
    }

    public function testTheWaitForEventsEndsWithinTheTimeLimit(): void
    {
        foreach ([30_000 => '20', 10_000 => '6', 60_000 => '20', 1_000 => '0'] as $timeoutMs => $wait) {
            $transport = new FakeTransport([FakeTransport::problem(422, 'position_unknown')]);
            RequestsTest::thrownBy(static fn () => $transport->guiche()->events->follow(options: ['timeoutMs' => $timeoutMs])->current());
            parse_str(self::queries($transport)[0], $values);
            self::assertSame([$timeoutMs, $wait], [$transport->requests[0]->timeoutMs, $values['wait']]);
        }
    }

    public function testARecordKeepsFieldsThatThisVersionDoesNotKnow(): void
    {
        $transport = new FakeTransport([self::page(['a'], null)]);
        [$event] = $transport->guiche()->events->list()->page()->data;
        self::assertSame('from a newer service', $event->toArray()['newField']);
        self::assertStringContainsString('from a newer service', (string) json_encode($event));
    }

    /** @param list<string> $ids */
    private static function page(array $ids, ?string $nextCursor): Response
    {
        $data = array_map(static fn (string $id): array => [
            'id' => $id,
            'type' => 'transaction.paid',
            'recordType' => 'transaction',
            'recordId' => $id,
            'sequence' => 2,
            'createdAt' => '2026-11-24T00:00:00.000Z',
            'delivery' => null,
            'newField' => 'from a newer service',
        ], $ids);
        return FakeTransport::json(200, ['total' => count($ids), 'totalPages' => 1, 'currentPage' => 1, 'perPage' => 100, 'data' => $data, 'nextCursor' => $nextCursor]);
    }

    /** @return list<string> */
    private static function queries(FakeTransport $transport): array
    {
        return array_map(static fn (Request $request): string => (string) parse_url($request->url, PHP_URL_QUERY), $transport->requests);
    }
}
