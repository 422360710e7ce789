<?php

declare(strict_types=1);

namespace Guiche\Http;

/** The built-in transport. It keeps its connection open for the next request. */
final class CurlTransport implements Transport
{
    private const CONNECT_TIMEOUT_MS = 10_000;

    private ?\CurlHandle $handle = null;

    /** @param array<int, mixed> $options more options of cURL, such as a proxy */
    public function __construct(private readonly array $options = [])
    {
        if (!extension_loaded('curl')) {
            throw new \LogicException('The PHP extension curl is missing: install it (php-curl), or pass a Psr18Transport as "transport".');
        }
    }

    public function send(Request $request): Response
    {
        $headers = [];
        // Some proxies refuse a POST without a Content-Length.
        $body = $request->body ?? ($request->method === 'POST' ? '' : null);
        $this->handle ??= curl_init();
        // The connection survives a reset, the options do not.
        curl_reset($this->handle);
        curl_setopt_array($this->handle, [
            CURLOPT_URL => $request->url,
            CURLOPT_CUSTOMREQUEST => $request->method,
            CURLOPT_HTTPHEADER => self::toLines($request),
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_FOLLOWLOCATION => false,
            CURLOPT_CONNECTTIMEOUT_MS => min(self::CONNECT_TIMEOUT_MS, $request->timeoutMs),
            CURLOPT_NOSIGNAL => true,
            CURLOPT_ENCODING => '',
            CURLOPT_RETURNTRANSFER => true,
            CURLOPT_HEADERFUNCTION => static function (\CurlHandle $handle, string $line) use (&$headers): int {
                [$name, $value] = explode(':', $line, 2) + [1 => null];
                if ($value !== null) {
                    $headers[strtolower(trim($name))] = trim($value);
                }
                return strlen($line);
            },
        ] + ($body === null ? [] : [CURLOPT_POSTFIELDS => $body])
          + self::toLimits($request)
          + $this->options);

        $answer = curl_exec($this->handle);
        if ($answer === false) {
            $number = curl_errno($this->handle);
            throw new TransportFailure(curl_error($this->handle), $number === CURLE_OPERATION_TIMEOUTED);
        }
        $status = curl_getinfo($this->handle, CURLINFO_RESPONSE_CODE);
        return new Response($status, $headers, is_string($answer) ? $answer : '');
    }

    /**
     * An export may take longer than the time limit. It fails when nothing arrives for that long.
     *
     * @return array<int, mixed>
     */
    private static function toLimits(Request $request): array
    {
        if ($request->sink === null) {
            return [CURLOPT_TIMEOUT_MS => $request->timeoutMs];
        }
        return [
            CURLOPT_FILE => $request->sink,
            CURLOPT_LOW_SPEED_LIMIT => 1,
            CURLOPT_LOW_SPEED_TIME => max(1, intdiv($request->timeoutMs + 999, 1000)),
        ];
    }

    /** @return list<string> */
    private static function toLines(Request $request): array
    {
        // Without this, cURL waits for permission before it sends a larger body.
        $lines = ['Expect:'];
        if ($request->body === null) {
            // Without this, cURL calls an empty body a form.
            $lines[] = 'Content-Type:';
        }
        foreach ($request->headers as $name => $value) {
            $lines[] = "$name: $value";
        }
        return $lines;
    }
}
