<?php

declare(strict_types=1);

namespace Guiche\Http;

use Guiche\Exception\GuicheException;
use Guiche\Model;
use Guiche\Page;
use Guiche\RecordList;

/**
 * What the resources are built on: calls with an access token.
 *
 * @phpstan-type Options array{timeoutMs?: int, maxRetries?: int}
 */
final class Client
{
    /** Filters that identify a person. */
    private const PERSONAL = ['customerName', 'customerEmail', 'customerDocument', 'customerPhone', 'pixKey'];

    public function __construct(private readonly Sender $sender, private readonly Tokens $tokens)
    {
    }

    /**
     * @template Result of Model
     * @param class-string<Result> $class
     * @param array<string, mixed> $query
     * @param Options $options
     * @return Result
     */
    public function get(string $path, string $class, array $options, array $query = []): Model
    {
        return $this->request(new Call('GET', $path, query: self::toFilters($query), isRepeatable: true), $class, $options);
    }

    /**
     * After a lost answer it is repeated only if the call `isRepeatable` or the body has an idempotency key.
     *
     * @template Result of Model
     * @param class-string<Result> $class
     * @param null|array<string, mixed> $body
     * @param Options $options
     * @return Result
     */
    public function post(string $path, string $class, array $options, ?array $body = null, bool $isRepeatable = false): Model
    {
        $key = $body['idempotencyKey'] ?? null;
        $call = new Call('POST', $path, body: $body, idempotencyKey: $key, isRepeatable: $isRepeatable || $key !== null);
        return $this->request($call, $class, $options);
    }

    /**
     * Retried: a repeated change has the same effect.
     *
     * @template Result of Model
     * @param class-string<Result> $class
     * @param array<string, mixed> $body
     * @param Options $options
     * @return Result
     */
    public function patch(string $path, string $class, array $options, array $body): Model
    {
        return $this->request(new Call('PATCH', $path, body: $body, isRepeatable: true), $class, $options);
    }

    /**
     * Not repeated after a lost answer: a second deletion would find nothing.
     *
     * @param Options $options
     */
    public function delete(string $path, array $options): void
    {
        $response = $this->send(new Call('DELETE', $path), $options);
        // A proxy may answer 200 with a page of its own.
        if ($response->status !== 204) {
            throw GuicheException::unexpectedAnswer($response->status);
        }
    }

    /**
     * @template Entry of Model
     * @param class-string<Entry> $class
     * @param array<string, mixed> $filters
     * @param Options $options
     * @return RecordList<Entry>
     */
    public function list(string $path, string $class, array $filters, array $options): RecordList
    {
        $fetch = function (array $more) use ($path, $class, $filters, $options): Page {
            $call = self::toListCall($path, [...$filters, ...$more]);
            return $this->read($this->send($call, $options), $call, static fn (array $data) => Page::from($data, $class));
        };
        return new RecordList($fetch, $filters);
    }

    /**
     * All matching records as CSV, in a stream to read from.
     *
     * @param array<string, mixed> $filters
     * @param Options $options
     * @return resource
     */
    public function export(string $path, array $filters, array $options): mixed
    {
        // Up to 2 MB in memory, beyond that in a temporary file.
        $sink = fopen('php://temp', 'w+b');
        if ($sink === false) {
            throw new \RuntimeException('PHP cannot open a temporary stream.');
        }
        $response = $this->send(self::toListCall($path, $filters, '.csv'), $options, $sink);
        if (!str_starts_with($response->headers['content-type'] ?? '', 'text/csv')) {
            throw GuicheException::unexpectedAnswer($response->status);
        }
        rewind($sink);
        return $sink;
    }

    public function sleep(int $milliseconds): void
    {
        $this->sender->sleep($milliseconds);
    }

    /** An id as a path segment. Anything with other characters is not an id and could change the path. */
    public static function toSegment(string $id): string
    {
        if (preg_match('/\A[\w-]{1,64}\z/', $id) === 1) {
            return $id;
        }
        throw new \InvalidArgumentException('The id of a record is needed: letters, digits and hyphens.');
    }

    /**
     * An input with its idempotency key. If the caller gave none, one is made for this call, so that all its tries are
     * one request.
     *
     * @param array<string, mixed> $input
     * @return array<string, mixed>
     */
    public static function withKey(array $input): array
    {
        $input['idempotencyKey'] ??= Sender::newKey();
        return $input;
    }

    /**
     * @template Result of Model
     * @param class-string<Result> $class
     * @param Options $options
     * @return Result
     */
    private function request(Call $call, string $class, array $options): Model
    {
        return $this->read($this->send($call, $options), $call, static fn (array $data): Model => $class::from($data));
    }

    /**
     * @param Options $options
     * @param null|resource $sink
     */
    private function send(Call $call, array $options, mixed $sink = null): Response
    {
        $token = $this->getToken($call, $options);
        try {
            return $this->sender->send($call, $token, $options, $sink);
        } catch (GuicheException $error) {
            // The request was refused before it was carried out, so any request may be sent again with a new token.
            if (!$error->isTokenRefused()) {
                throw $error;
            }
            $this->tokens->drop($token);
            return $this->sender->send($call, $this->getToken($call, $options), $options, $sink);
        }
    }

    /** @param Options $options */
    private function getToken(Call $call, array $options): ?string
    {
        try {
            return $this->tokens->get($options);
        } catch (GuicheException $error) {
            // An earlier try of the call may have been carried out: the caller needs its key.
            throw $error->withIdempotencyKey($call->idempotencyKey);
        }
    }

    /**
     * @template Result
     * @param \Closure(array<string, mixed>): Result $toResult
     * @return Result
     */
    private function read(Response $response, Call $call, \Closure $toResult): mixed
    {
        try {
            $data = json_decode($response->body, true, 512, JSON_THROW_ON_ERROR);
            return $toResult(is_array($data) ? $data : throw new \UnexpectedValueException('No JSON object.'));
        } catch (\JsonException | \UnexpectedValueException | \TypeError $cause) {
            throw GuicheException::unexpectedAnswer($response->status, $call->idempotencyKey, $cause);
        }
    }

    /**
     * Filters go into the query string, except those that identify a person: servers and proxies log URLs.
     *
     * @param array<string, mixed> $filters
     */
    private static function toListCall(string $path, array $filters, string $format = ''): Call
    {
        $set = self::toFilters($filters);
        $accept = $format === '' ? 'application/json' : 'text/csv';
        return array_intersect(array_keys($set), self::PERSONAL) === []
            ? new Call('GET', $path . $format, query: $set, isRepeatable: true, accept: $accept)
            : new Call('POST', "$path/search$format", body: $set, isRepeatable: true, accept: $accept);
    }

    /**
     * The filters that are set.
     *
     * @param array<string, mixed> $filters
     * @return array<string, mixed>
     */
    private static function toFilters(array $filters): array
    {
        foreach ($filters as $name => $value) {
            // Without this check an empty list would be left out, and a caller who asks for nothing would get everything.
            if ($value === []) {
                throw new \InvalidArgumentException("$name is an empty list. Leave it out to disable the filter.");
            }
        }
        return array_filter($filters, static fn (mixed $value): bool => $value !== null);
    }
}
