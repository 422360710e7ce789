<?php

declare(strict_types=1);

namespace Guiche\Tests;

use Guiche\Guiche;
use Guiche\Http\Request;
use Guiche\Http\Response;
use Guiche\Http\TokenStore;
use Guiche\Http\Transport;
use Guiche\Http\TransportFailure;

/** Answers what a test has prepared, in order, and a token whenever one is requested. */
final class FakeTransport implements Transport
{
    /** @var list<Request> Without those for tokens. */
    public array $requests = [];
    public int $tokens = 0;
    /** The time limit of the last request for a token. */
    public int $tokenTimeoutMs = 0;
    public int $lifetime = 900;
    /** @var list<int> */
    public array $pauses = [];

    /** @param list<Response|TransportFailure> $answers */
    public function __construct(private array $answers)
    {
    }

    public function guiche(int $maxRetries = 4, ?TokenStore $store = null): Guiche
    {
        return new Guiche('https://pix.example.com/', 'a-shop', 'a-secret', maxRetries: $maxRetries, transport: $this, tokenStore: $store, sleep: function (int $milliseconds): void {
            $this->pauses[] = $milliseconds;
        });
    }

    public function send(Request $request): Response
    {
        if (str_ends_with($request->url, '/auth/token')) {
            $this->tokens += 1;
            $this->tokenTimeoutMs = $request->timeoutMs;
            return self::json(200, ['access_token' => "token-$this->tokens", 'expires_in' => 4102444800, 'expires_in_sec' => $this->lifetime]);
        }
        $this->requests[] = $request;
        $answer = array_shift($this->answers) ?? throw new \LogicException("Nobody prepared an answer to $request->method $request->url");
        if ($answer instanceof TransportFailure) {
            throw $answer;
        }
        if ($request->sink !== null) {
            fwrite($request->sink, $answer->body);
            return new Response($answer->status, $answer->headers, '');
        }
        return $answer;
    }

    /** @param array<string, mixed> $body */
    public static function json(int $status, array $body, string ...$headers): Response
    {
        return new Response($status, $headers, json_encode($body, JSON_THROW_ON_ERROR));
    }

    public static function problem(int $status, string $code, string ...$headers): Response
    {
        return new Response($status, $headers, json_encode(['code' => $code, 'detail' => "It is $code.", 'requestId' => 'r-1'], JSON_THROW_ON_ERROR));
    }

    public static function created(): Response
    {
        return self::json(201, [
            'id' => '7b1c7ff7-6d3b-4b3f-9d58-0d5b3f0e8a11',
            'amount' => 2590,
            'type' => 'TRANSACTION',
            'status' => 'PIX_QRCODE_GENERATED',
            'paymentUrl' => 'https://pix.example.com/pay/abc',
            'pixResponse' => ['uri' => '000201', 'qrCodeBase64' => 'data:image/png;base64,AAAA', 'expirationDate' => '2026-11-24T00:00:00.000Z'],
        ]);
    }
}
