<?php

declare(strict_types=1);

namespace Guiche\Http;

use Psr\Http\Client\ClientExceptionInterface;
use Psr\Http\Client\ClientInterface;
use Psr\Http\Message\RequestFactoryInterface;
use Psr\Http\Message\StreamFactoryInterface;

/**
 * Any PSR-18 client with PSR-17 factories, such as Guzzle or Symfony's. PSR-18 has no options for a single request, so
 * `timeoutMs` has no effect here. Configure the client itself: set its time limit, and turn redirects off where they
 * are on by default (Symfony: `max_redirects` 0), because they could send the credentials to another address.
 */
final class Psr18Transport implements Transport
{
    private const CHUNK_BYTES = 65_536;

    public function __construct(
        private readonly ClientInterface $client,
        private readonly RequestFactoryInterface $requests,
        private readonly StreamFactoryInterface $streams,
    ) {
    }

    public function send(Request $request): Response
    {
        $message = $this->requests->createRequest($request->method, $request->url);
        foreach ($request->headers as $name => $value) {
            $message = $message->withHeader($name, $value);
        }
        if ($request->body !== null) {
            $message = $message->withBody($this->streams->createStream($request->body));
        }
        try {
            $answer = $this->client->sendRequest($message);
            $body = $this->read($answer->getBody(), $request->sink);
        } catch (ClientExceptionInterface | \RuntimeException $cause) {
            throw new TransportFailure($cause->getMessage(), false, $cause);
        }
        $headers = [];
        foreach ($answer->getHeaders() as $name => $values) {
            $headers[strtolower((string) $name)] = implode(', ', $values);
        }
        return new Response($answer->getStatusCode(), $headers, $body);
    }

    /** @param null|resource $sink */
    private function read(\Psr\Http\Message\StreamInterface $body, mixed $sink): string
    {
        if ($sink === null) {
            return (string) $body;
        }
        if ($body->isSeekable()) {
            $body->rewind();
        }
        while (!$body->eof()) {
            $part = $body->read(self::CHUNK_BYTES);
            if (fwrite($sink, $part) !== strlen($part)) {
                // Without this, an export that does not fit on the disk would look complete.
                throw new TransportFailure('The answer could not be written to the temporary stream.');
            }
        }
        return '';
    }
}
