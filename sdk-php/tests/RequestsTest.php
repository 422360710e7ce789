<?php

declare(strict_types=1);

namespace Guiche\Tests;

use Guiche\Exception\AcquirerRefusedException;
use Guiche\Exception\AcquirerUnavailableException;
use Guiche\Exception\AuthenticationException;
use Guiche\Exception\ConnectionException;
use Guiche\Exception\GuicheException;
use Guiche\Exception\IdempotencyKeyReusedException;
use Guiche\Exception\InsufficientBalanceException;
use Guiche\Exception\NotFoundException;
use Guiche\Exception\PermissionException;
use Guiche\Exception\RateLimitedException;
use Guiche\Exception\ServerException;
use Guiche\Exception\ValidationException;
use Guiche\Guiche;
use Guiche\Http\Request;
use Guiche\Http\Response;
use Guiche\Http\TokenStore;
use Guiche\Http\Transport;
use Guiche\Http\TransportFailure;
use PHPUnit\Framework\TestCase;

final class RequestsTest extends TestCase
{
    public function testACreateSendsWhatTheCallerLeftOutAndReturnsTypes(): void
    {
        $transport = new FakeTransport([FakeTransport::created()]);
        $created = $transport->guiche()->transactions->create(['amount' => 2590, 'metadata' => [], 'externalCode' => 'pedido-nº-1']);
        self::assertSame([2590, '000201'], [$created->amount, $created->pixResponse->uri]);
        [$request] = $transport->requests;
        self::assertSame(['POST', 'https://pix.example.com/transaction'], [$request->method, $request->url]);
        self::assertMatchesRegularExpression(
            '#\A\{"amount":2590,"metadata":\{\},"externalCode":"pedido-nº-1","paymentMethod":"PIX","pix":\{\},"idempotencyKey":"[0-9a-f]{32}"\}\z#',
            (string) $request->body,
        );
        self::assertSame('Bearer token-1', $request->headers['Authorization']);
        self::assertStringStartsWith('guiche-sdk-php/', $request->headers['User-Agent']);
        self::assertMatchesRegularExpression('/\A[0-9a-f]{32}\z/', $request->headers['X-Request-Id']);
    }

    public function testTheLimitsOfACallAreThoseOfItsTokenToo(): void
    {
        $transport = new FakeTransport([FakeTransport::created()]);
        $transport->guiche()->transactions->create(['amount' => 2590], ['timeoutMs' => 1234]);
        self::assertSame([1234, 1234], [$transport->tokenTimeoutMs, $transport->requests[0]->timeoutMs]);
    }

    public function testAWaitEndsInTimeWhenNobodyAnswers(): void
    {
        $transport = new class () implements Transport {
            /** @var list<int> */
            public array $limits = [];

            public function send(Request $request): Response
            {
                $this->limits[] = $request->timeoutMs;
                usleep($request->timeoutMs * 1000);
                throw new TransportFailure('nobody answered', true);
            }
        };
        $guiche = new Guiche('https://pix.example.com', accessToken: static fn () => 'mine', transport: $transport);
        try {
            $guiche->transactions->waitFor('an-id', 'PAID', timeoutMs: 100);
            self::fail('It was paid.');
        } catch (GuicheException $error) {
            self::assertSame(['wait_timed_out', 'timeout'], [$error->errorCode, $error->getPrevious()->errorCode ?? null]);
        }
        self::assertCount(1, $transport->limits);
        self::assertLessThanOrEqual(100, $transport->limits[0]);
    }

    public function testTheLastPollOfAWaitHasTimeForAnAnswer(): void
    {
        $transport = new class () implements Transport {
            /** @var list<int> */
            public array $limits = [];

            public function send(Request $request): Response
            {
                $this->limits[] = $request->timeoutMs;
                return FakeTransport::created();
            }
        };
        $guiche = new Guiche('https://pix.example.com', accessToken: static fn () => 'mine', transport: $transport);
        $error = self::thrownBy(static fn () => $guiche->transactions->waitFor('an-id', 'PAID', timeoutMs: 1_000));
        self::assertSame('wait_timed_out', $error->errorCode);
        self::assertGreaterThan(2, min($transport->limits));
    }

    /** @dataProvider repeated */
    public function testACreateIsRepeatedWithTheSameKey(Response|TransportFailure $answer): void
    {
        $transport = new FakeTransport([$answer, $answer, FakeTransport::created()]);
        $transport->guiche()->transactions->create(['amount' => 2590]);
        self::assertCount(3, $transport->requests);
        self::assertCount(1, array_unique(array_map(static fn ($request) => $request->body, $transport->requests)));
        self::assertCount(2, $transport->pauses);
    }

    /** @return iterable<string, array{Response|TransportFailure}> */
    public static function repeated(): iterable
    {
        foreach ([408, 500, 502, 503, 504] as $status) {
            yield (string) $status => [new Response($status, [], 'from a proxy')];
        }
        yield '429' => [FakeTransport::problem(429, 'rate_limited')];
        yield 'unknown outcome' => [FakeTransport::problem(500, 'acquirer_unavailable')];
        yield 'no answer' => [new TransportFailure('connection reset')];
        yield 'time-out' => [new TransportFailure('timeout', true)];
    }

    /** @dataProvider notRepeated */
    public function testWhatIsRefusedForGoodIsNotRepeated(Response $answer): void
    {
        $transport = new FakeTransport([$answer]);
        $error = self::thrownBy(static fn () => $transport->guiche()->withdrawals->create(['amount' => 1000, 'pixKey' => ['key' => 'maria@example.com', 'type' => 'EMAIL']]));
        self::assertCount(1, $transport->requests);
        self::assertNotNull($error->idempotencyKey);
        self::assertStringContainsString((string) $error->idempotencyKey, (string) $transport->requests[0]->body);
    }

    /** @return iterable<string, array{Response}> */
    public static function notRepeated(): iterable
    {
        yield 'validation' => [FakeTransport::problem(422, 'validation_failed')];
        yield 'a freeze of payouts' => [FakeTransport::problem(503, 'payouts_stopped')];
        yield 'a longer pause than a minute' => [FakeTransport::problem(503, 'overloaded', ...['retry-after' => '61'])];
        yield 'a redirect' => [new Response(302, ['location' => 'https://elsewhere.example.com'], '')];
        yield 'a page of a proxy' => [new Response(200, [], '<html>')];
        yield 'another JSON' => [new Response(200, [], '{"id":7}')];
        yield 'a scope that is missing' => [FakeTransport::problem(403, 'insufficient_scope')];
    }

    public function testACallWithoutKeyIsRepeatedOnlyWhenItWasRefused(): void
    {
        $paid = FakeTransport::json(200, ['endToEndId' => 'E1']);
        $transport = new FakeTransport([FakeTransport::problem(429, 'rate_limited', ...['retry-after' => '2']), $paid]);
        self::assertSame('E1', $transport->guiche()->sandbox->pay(['uri' => '000201'])->endToEndId);
        self::assertGreaterThanOrEqual(2000, $transport->pauses[0]);
        self::assertLessThanOrEqual(2100, $transport->pauses[0]);

        $transport = new FakeTransport([new TransportFailure('connection reset')]);
        $error = self::thrownBy(static fn () => $transport->guiche()->sandbox->pay(['uri' => '000201']));
        self::assertInstanceOf(ConnectionException::class, $error);
        self::assertSame('connection_failed', $error->errorCode);
        self::assertStringContainsString('Check before you repeat it', $error->getMessage());
        self::assertInstanceOf(TransportFailure::class, $error->getPrevious());
    }

    public function testTheLastErrorIsThrownAfterTheRetriesAndCarriesTheKey(): void
    {
        $transport = new FakeTransport(array_fill(0, 5, new TransportFailure('late', true)));
        $error = self::thrownBy(static fn () => $transport->guiche()->transactions->create(['amount' => 2590, 'idempotencyKey' => 'order-1-try-1']));
        self::assertSame(['timeout', 'order-1-try-1'], [$error->errorCode, $error->idempotencyKey]);
        self::assertCount(5, $transport->requests);
        foreach ($transport->pauses as $retry => $pause) {
            self::assertGreaterThanOrEqual(250 * 2 ** $retry, $pause);
            self::assertLessThanOrEqual(500 * 2 ** $retry, $pause);
        }
    }

    public function testTheOptionsOfACallReplaceThoseOfTheClient(): void
    {
        $transport = new FakeTransport([new Response(503, [], '')]);
        self::thrownBy(static fn () => $transport->guiche()->balance->get([], ['maxRetries' => 0, 'timeoutMs' => 5]));
        self::assertSame(5, $transport->requests[0]->timeoutMs);
        $this->expectException(\InvalidArgumentException::class);
        $transport->guiche()->balance->get([], ['timeout' => 5]);
    }

    public function testATokenIsFetchedOnceAndAgainWhenItEndsOrIsRefused(): void
    {
        $balance = FakeTransport::json(200, ['available' => 1, 'reserved' => 0, 'blocked' => 0, 'debt' => 0, 'at' => '2026-11-24T00:00:00.000Z']);
        $transport = new FakeTransport([$balance, $balance, FakeTransport::problem(401, 'token_expired'), $balance]);
        $guiche = $transport->guiche();
        $guiche->balance->get();
        $guiche->balance->get();
        self::assertSame(1, $transport->tokens);
        $guiche->balance->get();
        self::assertSame('Bearer token-2', $transport->requests[3]->headers['Authorization']);

        // A token whose lifetime is over is not used again.
        $transport = new FakeTransport([$balance, $balance]);
        $transport->lifetime = 0;
        $guiche = $transport->guiche();
        $guiche->balance->get();
        $guiche->balance->get();
        self::assertSame(2, $transport->tokens);
    }

    public function testARefusedTokenIsRenewedOnlyOnce(): void
    {
        $transport = new FakeTransport(array_fill(0, 2, FakeTransport::problem(401, 'token_revoked')));
        $error = self::thrownBy(static fn () => $transport->guiche()->transactions->create(['amount' => 1]));
        self::assertInstanceOf(AuthenticationException::class, $error);
        self::assertSame([2, 2], [$transport->tokens, count($transport->requests)]);
    }

    public function testAStoreSharesTheTokenBetweenRequestsOfPhp(): void
    {
        $store = new class () implements TokenStore {
            /** @var array<string, array{token: string, renewAt: int}> */
            public array $tokens = [];

            public function load(string $key): ?array
            {
                return $this->tokens[$key] ?? null;
            }

            public function save(string $key, array $token): void
            {
                $this->tokens[$key] = $token;
            }

            public function remove(string $key): void
            {
                unset($this->tokens[$key]);
            }
        };
        $transport = new FakeTransport([FakeTransport::created(), FakeTransport::created(), FakeTransport::problem(401, 'token_revoked'), FakeTransport::created()]);
        $transport->guiche(store: $store)->transactions->create(['amount' => 1]);
        $transport->guiche(store: $store)->transactions->create(['amount' => 1]);
        self::assertSame(1, $transport->tokens);
        self::assertStringNotContainsString('a-s', (string) array_key_first($store->tokens));
        $transport->guiche(store: $store)->transactions->create(['amount' => 1]);
        self::assertSame(['token-2'], array_column($store->tokens, 'token'));
        // Another service with the same credentials, such as a copy of the database.
        $copy = new FakeTransport([FakeTransport::created()]);
        (new Guiche('https://copy.example.com', 'a-shop', 'a-secret', transport: $copy, tokenStore: $store))->transactions->create(['amount' => 1]);
        self::assertSame(1, $copy->tokens);
        self::assertSame(['token-2', 'token-1'], array_column($store->tokens, 'token'));
    }

    public function testARefusedTokenThatTheStoreHasLostIsRenewed(): void
    {
        $store = new class () implements TokenStore {
            public function load(string $key): ?array
            {
                return null;
            }

            public function save(string $key, array $token): void
            {
            }

            public function remove(string $key): void
            {
            }
        };
        $transport = new FakeTransport([FakeTransport::problem(401, 'token_revoked'), FakeTransport::created()]);
        $transport->guiche(store: $store)->transactions->create(['amount' => 1]);
        self::assertSame(2, $transport->tokens);
    }

    /**
     * @dataProvider classes
     * @param class-string<GuicheException> $class
     */
    public function testEveryRefusalHasItsClass(string $class, int $status, string $code): void
    {
        $transport = new FakeTransport([FakeTransport::problem($status, $code)]);
        $error = self::thrownBy(static fn () => $transport->guiche(maxRetries: 0)->transactions->create(['amount' => 1]));
        self::assertSame([$class, $code, $status, 'r-1'], [$error::class, $error->errorCode, $error->status, $error->requestId]);
        self::assertStringEndsWith("[$code, HTTP $status, request r-1]", $error->getMessage());
    }

    /** @return iterable<array{class-string<GuicheException>, int, string}> */
    public static function classes(): iterable
    {
        yield [ValidationException::class, 422, 'validation_failed'];
        yield [IdempotencyKeyReusedException::class, 422, 'idempotency_key_reused'];
        yield [AcquirerRefusedException::class, 422, 'acquirer_refused'];
        yield [InsufficientBalanceException::class, 422, 'insufficient_balance'];
        yield [GuicheException::class, 422, 'refund_not_possible'];
        yield [AuthenticationException::class, 401, 'missing_token'];
        yield [PermissionException::class, 403, 'insufficient_scope'];
        yield [NotFoundException::class, 404, 'not_found'];
        yield [RateLimitedException::class, 429, 'rate_limited'];
        yield [AcquirerUnavailableException::class, 500, 'acquirer_unavailable'];
        yield [ServerException::class, 503, 'database_unavailable'];
    }

    public function testAMessageListsTheErrorsOfAllFieldsAndNoSecret(): void
    {
        $errors = array_map(static fn (int $index): array => ['field' => "items[$index].title", 'code' => 'required', 'message' => 'is required'], range(0, 6));
        $transport = new FakeTransport([FakeTransport::json(422, ['code' => 'validation_failed', 'detail' => 'items[0].title is required.', 'errors' => $errors])]);
        $error = self::thrownBy(static fn () => $transport->guiche()->transactions->create(['amount' => 1]));
        self::assertCount(7, $error->errors);
        self::assertSame('items[6].title', $error->errors[6]->field);
        self::assertStringContainsString('items[4].title is required. And 2 more in "errors".', $error->getMessage());
        self::assertStringNotContainsString('a-secret', (string) $error);
        $reused = ['code' => 'idempotency_key_reused', 'detail' => 'Use a new key.', 'errors' => $errors];
        $transport = new FakeTransport([FakeTransport::json(422, $reused)]);
        $error = self::thrownBy(static fn () => $transport->guiche()->transactions->create(['amount' => 1]));
        self::assertStringStartsWith('Use a new key. [', $error->getMessage());
    }

    public function testAWrongCallIsRefusedBeforeARequest(): void
    {
        $transport = new FakeTransport([]);
        $guiche = $transport->guiche();
        $calls = [
            static fn () => $guiche->transactions->get('../balance'),
            static fn () => $guiche->transactions->get(''),
            static fn () => $guiche->transactions->list(['status' => []])->page(),
            static fn () => $guiche->transactions->create(['amount' => NAN]),
            static fn () => new Guiche('https://user:secret@pix.example.com', 'a', 'b'),
            static fn () => new Guiche('pix.example.com', 'a', 'b'),
            static fn () => new Guiche('https://pix.example.com/?', 'a', 'b'),
            static fn () => new Guiche('https://pix.example.com/#', 'a', 'b'),
            static fn () => new Guiche('https://pix.example.com', 'a', ''),
        ];
        foreach ($calls as $call) {
            try {
                $call();
                self::fail('It was accepted.');
            } catch (\InvalidArgumentException $error) {
                self::assertStringNotContainsString('secret@', $error->getMessage());
            }
        }
        self::assertSame([], $transport->requests);
    }

    /** @param callable(): mixed $call */
    public static function thrownBy(callable $call): GuicheException
    {
        try {
            $call();
        } catch (GuicheException $error) {
            return $error;
        }
        self::fail('No GuicheException was thrown.');
    }
}
