<?php

declare(strict_types=1);

namespace Guiche\Http;

use Guiche\Exception\GuicheException;

/** Tokens for a client's credentials, kept in memory and, if there is one, in a store that outlives the request. */
final class ClientCredentials implements Tokens
{
    /**
     * A token is renewed this long before it expires, or a tenth of its lifetime before, whichever is shorter: a request
     * takes time to arrive.
     */
    private const RENEW_BEFORE_SECONDS = 30;

    /** @var null|array{token: string, renewAt: int} */
    private ?array $current = null;

    public function __construct(
        private readonly Sender $sender,
        private readonly string $baseUrl,
        private readonly string $clientId,
        #[\SensitiveParameter] private readonly string $clientSecret,
        private readonly ?TokenStore $store,
    ) {
    }

    public function get(array $options): string
    {
        $current = $this->current ?? $this->store?->load($this->storeKey());
        if ($current === null || time() >= $current['renewAt']) {
            $current = $this->fetch($options);
            $this->store?->save($this->storeKey(), $current);
        }
        $this->current = $current;
        return $current['token'];
    }

    public function drop(?string $token): void
    {
        $this->current = null;
        // Another process may have stored a newer token in the meantime. Keep that one.
        if (($this->store?->load($this->storeKey())['token'] ?? null) === $token) {
            $this->store?->remove($this->storeKey());
        }
    }

    /** Each combination of service, client and secret has its own token. The key does not reveal them. */
    private function storeKey(): string
    {
        return 'guiche_token_' . substr(hash_hmac('sha256', "$this->baseUrl\n$this->clientId", $this->clientSecret), 0, 32);
    }

    /**
     * @param array{timeoutMs?: int, maxRetries?: int, endsAt?: int} $options
     * @return array{token: string, renewAt: int}
     */
    private function fetch(array $options): array
    {
        $requestedAt = time();
        // Repeatable, since an extra token has no effect.
        $call = new Call('POST', '/auth/token', body: [
            'client_id' => $this->clientId,
            'client_secret' => $this->clientSecret,
            'grant_type' => 'client_credentials',
        ], isRepeatable: true, isForm: true);
        $response = $this->sender->send($call, null, $options);
        $grant = json_decode($response->body, true);
        $token = $grant['access_token'] ?? null;
        // Not `expires_in`: in this API it is a point in time, not a lifetime.
        $lifetime = $grant['expires_in_sec'] ?? null;
        if (!is_string($token) || !is_int($lifetime)) {
            throw GuicheException::unexpectedAnswer($response->status);
        }
        return ['token' => $token, 'renewAt' => $requestedAt + $lifetime - min(self::RENEW_BEFORE_SECONDS, intdiv($lifetime, 10))];
    }
}
