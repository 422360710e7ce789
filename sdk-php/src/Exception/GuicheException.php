<?php

declare(strict_types=1);

namespace Guiche\Exception;

use Guiche\Http\Response;
use Guiche\Types\FieldError;

/**
 * Every exception that the SDK throws because of the service or of a webhook. Others are an `InvalidArgumentException`
 * or another `LogicException` for wrong arguments or a missing extension of PHP, the `OverflowException` of
 * `RecordList::all()`, a `RuntimeException` where PHP cannot open the stream of an export, and those of
 * `Guiche\Testing`. The message says what happened and what to do; it never contains a secret or a token.
 *
 * ```php
 * try {
 *     $guiche->withdrawals->create($withdrawal);
 * } catch (GuicheException $error) {
 *     if ($error->errorCode === 'insufficient_balance') return tryTomorrow();
 *     throw $error;
 * }
 * ```
 */
class GuicheException extends \RuntimeException
{
    /** Keeps the log readable when a request has a hundred errors. */
    private const SHOWN_MAX = 5;

    private const CLASSES = [
        'validation_failed' => ValidationException::class,
        'malformed_json' => ValidationException::class,
        'idempotency_key_reused' => IdempotencyKeyReusedException::class,
        'acquirer_refused' => AcquirerRefusedException::class,
        'insufficient_balance' => InsufficientBalanceException::class,
        'acquirer_unavailable' => AcquirerUnavailableException::class,
    ];

    private const CLASSES_BY_STATUS = [
        401 => AuthenticationException::class,
        403 => PermissionException::class,
        404 => NotFoundException::class,
        429 => RateLimitedException::class,
    ];

    final public function __construct(
        /** Stable, in snake case, such as `insufficient_balance`. Compare this, not the message. */
        public readonly string $errorCode,
        /** What happened and what to do next. */
        public readonly string $detail,
        /** HTTP status of the answer; null if the error did not come from an answer. */
        public readonly ?int $status = null,
        /** Give this to the operator, who finds the request in the log with it. */
        public readonly ?string $requestId = null,
        /** Seconds to wait before the next try, if the service said so. */
        public readonly ?float $retryAfterSeconds = null,
        /**
         * All invalid fields of the request, not only the first; or the reasons why the current state of the record
         * does not allow the request. Empty for other errors.
         *
         * @var list<FieldError>
         */
        public readonly array $errors = [],
        /**
         * The key of the request, if it had one. If the outcome is unknown, repeat the request with it: it is carried
         * out once.
         */
        public readonly ?string $idempotencyKey = null,
        /** The transaction that the acquirer refused to create or to cancel, or whose outcome is not known yet. */
        public readonly ?string $transactionId = null,
        ?\Throwable $previous = null,
    ) {
        $notes = array_filter([$errorCode, $status === null ? '' : "HTTP $status", $requestId === null ? '' : "request $requestId"]);
        parent::__construct(self::describe($errorCode, $detail, $errors) . ' [' . implode(', ', $notes) . ']', 0, $previous);
    }

    /** The exception for an error response, whoever sent it. */
    public static function fromAnswer(Response $response, ?string $idempotencyKey): self
    {
        $data = json_decode($response->body, true);
        $data = is_array($data) ? $data : [];
        // Guichê's routes send problems (RFC 9457), the token endpoint OAuth errors (RFC 6749). Anything else is from a
        // proxy.
        $code = self::text($data['code'] ?? null) ?? self::text($data['error'] ?? null);
        $detail = self::text($data['detail'] ?? null) ?? self::text($data['error_description'] ?? null);
        $class = self::CLASSES[$code ?? ''] ?? self::CLASSES_BY_STATUS[$response->status] ?? ($response->status >= 500 ? ServerException::class : self::class);
        $isNamed = $code !== null && $detail !== null;
        return new $class(
            errorCode: $isNamed ? $code : 'unexpected_answer',
            detail: $isNamed ? $detail : self::unexpected($response->status),
            status: $response->status,
            requestId: self::text($data['requestId'] ?? null) ?? self::text($response->headers['x-request-id'] ?? null),
            retryAfterSeconds: self::readRetryAfter($response->headers['retry-after'] ?? ''),
            errors: self::readErrors($data['errors'] ?? null),
            idempotencyKey: $idempotencyKey,
            transactionId: self::text($data['transactionId'] ?? null),
        );
    }

    /** The exception for an answer that reports success, but whose body is not what Guichê sends. */
    public static function unexpectedAnswer(int $status, ?string $idempotencyKey = null, ?\Throwable $previous = null): self
    {
        return new self('unexpected_answer', self::unexpected($status), $status, idempotencyKey: $idempotencyKey, previous: $previous);
    }

    /** @internal The same error with the key of a call that was waiting for the token. */
    public function withIdempotencyKey(?string $idempotencyKey): static
    {
        return $idempotencyKey === null ? $this : new static(
            $this->errorCode,
            $this->detail,
            $this->status,
            $this->requestId,
            $this->retryAfterSeconds,
            $this->errors,
            $idempotencyKey,
            $this->transactionId,
            $this,
        );
    }

    /** @internal True if a new token may help. */
    public function isTokenRefused(): bool
    {
        return $this instanceof AuthenticationException && preg_match('/\A(?:token_|invalid_token)/', $this->errorCode) === 1;
    }

    /**
     * For an invalid request, `detail` names the first error only. The message lists the others too, for a reader who
     * sees nothing else.
     *
     * @param list<FieldError> $errors
     */
    private static function describe(string $code, string $detail, array $errors): string
    {
        if ($code !== 'validation_failed' || count($errors) < 2) {
            return $detail;
        }
        $shown = array_map(
            static fn (FieldError $error): string => ($error->field === '' ? 'The body' : $error->field) . " $error->message.",
            array_slice($errors, 0, self::SHOWN_MAX),
        );
        $more = count($errors) - count($shown);
        return implode(' ', $shown) . ($more > 0 ? " And $more more in \"errors\"." : '');
    }

    private static function unexpected(int $status): string
    {
        return $status >= 300 && $status < 400
            ? 'The service answered with a redirect, and the SDK does not send credentials to another address. Set baseUrl to the final address.'
            : 'The answer is not from Guichê. Check baseUrl, and any proxy in front of the service.';
    }

    /** Reads a number of seconds or an HTTP date. Null if it is neither. */
    private static function readRetryAfter(string $header): ?float
    {
        if (preg_match('/\A\d{1,9}\z/', $header) === 1) {
            return (float) $header;
        }
        $time = $header === '' ? false : strtotime($header);
        return $time === false ? null : max(0.0, $time - microtime(true));
    }

    /** @return list<FieldError> */
    private static function readErrors(mixed $errors): array
    {
        $isError = static fn (mixed $error): bool => is_array($error)
            && is_string($error['field'] ?? null) && is_string($error['message'] ?? null);
        return array_map(
            static fn (array $error): FieldError => FieldError::from($error),
            array_values(array_filter(is_array($errors) ? $errors : [], $isError)),
        );
    }

    private static function text(mixed $value): ?string
    {
        return is_string($value) && $value !== '' ? $value : null;
    }
}
