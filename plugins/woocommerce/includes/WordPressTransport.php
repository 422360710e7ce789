<?php

declare(strict_types=1);

namespace Guiche\WooCommerce;

use Guiche\Http\Request;
use Guiche\Http\Response;
use Guiche\Http\Transport;
use Guiche\Http\TransportFailure;

/** WordPress' own HTTP client, with its proxy and its certificates. */
final class WordPressTransport implements Transport
{
    public function send(Request $request): Response
    {
        $answer = wp_remote_request($request->url, [
            'method' => $request->method,
            // cURL adds the type of a form to a POST without a body, and Guichê refuses that.
            'headers' => $request->headers + ($request->method === 'POST' ? ['Content-Type' => 'application/json'] : []),
            'body' => $request->body ?? '',
            'timeout' => $request->timeoutMs / 1000,
            'redirection' => 0,
            'user-agent' => $request->headers['User-Agent'] ?? '',
        ]);
        if (is_wp_error($answer)) {
            $message = $answer->get_error_message();
            throw new TransportFailure($message, str_contains($message, 'cURL error 28') || str_contains($message, 'timed out'));
        }
        $headers = [];
        foreach (wp_remote_retrieve_headers($answer) as $name => $value) {
            $headers[strtolower((string) $name)] = is_array($value) ? implode(', ', $value) : (string) $value;
        }
        return new Response((int) wp_remote_retrieve_response_code($answer), $headers, wp_remote_retrieve_body($answer));
    }
}
