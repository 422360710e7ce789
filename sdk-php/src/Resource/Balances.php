<?php

declare(strict_types=1);

namespace Guiche\Resource;

use Guiche\Http\Client;
use Guiche\Types\Balance;
use Guiche\Types\Shapes;

/**
 * The balance of the merchant. Scope: `balance.read`.
 *
 * @phpstan-import-type Options from Client
 * @phpstan-import-type BalanceQuery from Shapes
 */
final class Balances
{
    public function __construct(private readonly Client $client)
    {
    }

    /**
     * The balance now, or as it was `at` a past time: available, reserved, blocked and owed, in cents.
     *
     * @param BalanceQuery $query
     * @param Options $options
     */
    public function get(array $query = [], array $options = []): Balance
    {
        return $this->client->get('/balance', Balance::class, $options, $query);
    }
}
