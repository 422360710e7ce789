<?php

declare(strict_types=1);

namespace Guiche\Http;

use Guiche\Exception\ConnectionException;
use Guiche\Exception\GuicheException;
use Guiche\Exception\RateLimitedException;
use Guiche\Guiche;

/** Sends a call, and retries it where that is safe and may help. */
final class Sender
{
    private const FIRST_PAUSE_MS = 500;
    private const LONGEST_PAUSE_MS = 8_000;
    /** If the service asks for a longer wait, the caller gets the exception instead. */
    private const RETRY_AFTER_MAX_SECONDS = 60;
    /** 408 to 504: the request was refused before it was carried out, or its outcome is unknown. */
    private const REPEATED_STATUSES = [408, 500, 502, 503, 504];
    private const ERROR_BODY_MAX_BYTES = 65_536;

    /** @param \Closure(int): void $sleep */
    public function __construct(
        private readonly string $baseUrl,
        private readonly Transport $transport,
        private readonly int $timeoutMs,
        private readonly int $maxRetries,
        private readonly \Closure $sleep,
    ) {
    }

    /**
     * @param array{timeoutMs?: int, maxRetries?: int, endsAt?: int} $options `endsAt`: by `hrtime(true)`, for all tries
     * @param null|resource $sink
     * @throws GuicheException
     */
    public function send(Call $call, ?string $token, array $options = [], mixed $sink = null): Response
    {
        foreach (array_diff(array_keys($options), ['timeoutMs', 'maxRetries', 'endsAt']) as $unknown) {
            throw new \InvalidArgumentException("There is no option \"$unknown\". The options of a call are timeoutMs and maxRetries.");
        }
        $endsAt = $options['endsAt'] ?? null;
        $leftMs = static fn (): int => $endsAt === null ? PHP_INT_MAX : intdiv($endsAt - hrtime(true), 1_000_000);
        for ($retry = 0; ; $retry += 1) {
            try {
                $timeoutMs = min($options['timeoutMs'] ?? $this->timeoutMs, max(1, $leftMs()));
                return $this->sendOnce($call, $token, $timeoutMs, $sink);
            } catch (GuicheException $error) {
                if ($retry >= ($options['maxRetries'] ?? $this->maxRetries) || !self::mayRepeat($call, $error)) {
                    throw $error;
                }
                $this->sleep(min(self::pauseMs($error, $retry), max(0, $leftMs())));
                if ($leftMs() <= 0) {
                    throw $error;
                }
            }
        }
    }

    public function sleep(int $milliseconds): void
    {
        ($this->sleep)($milliseconds);
    }

    /** 128 random bits, for an idempotency key or a request id. */
    public static function newKey(): string
    {
        return bin2hex(random_bytes(16));
    }

    /** @param null|resource $sink */
    private function sendOnce(Call $call, ?string $token, int $timeoutMs, mixed $sink): Response
    {
        $requestId = self::newKey();
        if ($sink !== null) {
            ftruncate($sink, 0);
            rewind($sink);
        }
        $request = new Request(
            $call->method,
            $this->baseUrl . $call->path . self::toSearch($call->query),
            self::toHeaders($call, $token, $requestId),
            self::toBody($call),
            $timeoutMs,
            $sink,
        );
        try {
            $response = $this->transport->send($request);
        } catch (TransportFailure $failure) {
            throw self::toConnectionException($call, $failure, $requestId, $timeoutMs);
        }
        if ($response->status >= 200 && $response->status < 300) {
            return $response;
        }
        if ($sink !== null) {
            rewind($sink);
            $response = new Response($response->status, $response->headers, (string) stream_get_contents($sink, self::ERROR_BODY_MAX_BYTES));
        }
        throw GuicheException::fromAnswer($response, $call->idempotencyKey);
    }

    private static function mayRepeat(Call $call, GuicheException $error): bool
    {
        if (($error->retryAfterSeconds ?? 0) > self::RETRY_AFTER_MAX_SECONDS) {
            return false;
        }
        // Refused before anything was done, so that any request may be sent again.
        if ($error instanceof RateLimitedException) {
            return true;
        }
        // Payouts are frozen until a person ends the freeze.
        if (!$call->isRepeatable || $error->errorCode === 'payouts_stopped') {
            return false;
        }
        return $error instanceof ConnectionException || in_array($error->status, self::REPEATED_STATUSES, true);
    }

    /**
     * The pause that the service asks for; else twice the previous one. It is random in part, so that many clients do
     * not retry at the same moment.
     */
    private static function pauseMs(GuicheException $error, int $retry): int
    {
        if ($error->retryAfterSeconds !== null) {
            return (int) ceil($error->retryAfterSeconds * 1000) + random_int(0, 100);
        }
        $longest = min(self::LONGEST_PAUSE_MS, self::FIRST_PAUSE_MS * 2 ** $retry);
        return random_int(intdiv($longest, 2), $longest);
    }

    /** @return array<string, string> */
    private static function toHeaders(Call $call, ?string $token, string $requestId): array
    {
        return [
            'Accept' => $call->accept,
            'User-Agent' => 'guiche-sdk-php/' . Guiche::VERSION,
            'X-Request-Id' => $requestId,
        ] + ($call->body === null ? [] : ['Content-Type' => $call->isForm ? 'application/x-www-form-urlencoded' : 'application/json'])
          + ($token === null ? [] : ['Authorization' => "Bearer $token"]);
    }

    private static function toBody(Call $call): ?string
    {
        if ($call->body === null) {
            return null;
        }
        if ($call->isForm) {
            return http_build_query($call->body);
        }
        $body = self::toValues($call->body);
        // PHP writes an empty array as a list. These are objects.
        foreach (['pix', 'metadata'] as $name) {
            if (($body[$name] ?? null) === []) {
                $body[$name] = new \stdClass();
            }
        }
        try {
            return json_encode((object) $body, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE);
        } catch (\JsonException $cause) {
            throw new \InvalidArgumentException('The input is not JSON: text must be UTF-8, and numbers finite.', 0, $cause);
        }
    }

    /** @param array<string, mixed> $query */
    private static function toSearch(array $query): string
    {
        $parts = [];
        foreach (self::toValues($query) as $name => $value) {
            foreach (is_array($value) ? $value : [$value] as $one) {
                $parts[] = rawurlencode((string) $name) . '=' . rawurlencode((string) $one);
            }
        }
        return $parts === [] ? '' : '?' . implode('&', $parts);
    }

    /**
     * Dates as ISO 8601.
     *
     * @param array<array-key, mixed> $input
     * @return array<array-key, mixed>
     */
    private static function toValues(array $input): array
    {
        return array_map(static fn (mixed $value): mixed => match (true) {
            is_array($value) => self::toValues($value),
            $value instanceof \DateTimeInterface => \DateTimeImmutable::createFromInterface($value)
                ->setTimezone(new \DateTimeZone('UTC'))->format('Y-m-d\TH:i:s.v\Z'),
            default => $value,
        }, $input);
    }

    private static function toConnectionException(Call $call, TransportFailure $failure, string $requestId, int $timeoutMs): ConnectionException
    {
        $what = $failure->isTimeout ? "No answer within $timeoutMs ms" : 'The service could not be reached, or the connection broke';
        $next = match (true) {
            !$call->isRepeatable => 'It is not known whether the request was carried out. Check before you repeat it.',
            $call->idempotencyKey === null => 'Is baseUrl right, and is the service running?',
            default => 'It is not known whether the request was carried out. Repeat it with the same idempotencyKey: it is carried out only once.',
        };
        return new ConnectionException(
            errorCode: $failure->isTimeout ? 'timeout' : 'connection_failed',
            detail: "$what ({$call->method} {$call->path}). $next",
            requestId: $requestId,
            idempotencyKey: $call->idempotencyKey,
            previous: $failure,
        );
    }
}
