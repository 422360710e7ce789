<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

use Guiche\Model;

/** What has come due. Its effects follow within seconds. */
final class SandboxDue extends Model
{
    /** Codes that have expired. */
    public readonly int $charges;
    /** Delayed payments that the simulated bank has now shown. */
    public readonly int $payments;
    /** Refunds and returns that the simulated bank has now settled. */
    public readonly int $refunds;
    /** Withdrawals that the simulated bank has now settled. */
    public readonly int $withdrawals;
    /** Disputes that were opened, paid back, or have reached their deadline. */
    public readonly int $disputes;
    /** Open withdrawals and refunds whose next check is due. */
    public readonly int $checks;
    /** Deliveries whose next attempt is due. */
    public readonly int $webhooks;

    /** @param array<string, mixed> $data */
    protected function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['charges'])) {
            $this->charges = $data['charges'];
        }
        if (isset($data['payments'])) {
            $this->payments = $data['payments'];
        }
        if (isset($data['refunds'])) {
            $this->refunds = $data['refunds'];
        }
        if (isset($data['withdrawals'])) {
            $this->withdrawals = $data['withdrawals'];
        }
        if (isset($data['disputes'])) {
            $this->disputes = $data['disputes'];
        }
        if (isset($data['checks'])) {
            $this->checks = $data['checks'];
        }
        if (isset($data['webhooks'])) {
            $this->webhooks = $data['webhooks'];
        }
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
