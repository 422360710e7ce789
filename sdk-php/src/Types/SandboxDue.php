<?php

// Written by `npm run sdk:types` from docs/openapi.json. Edit that, not this file.

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
        $this->charges = $data['charges'] ?? self::missing('charges');
        $this->payments = $data['payments'] ?? self::missing('payments');
        $this->refunds = $data['refunds'] ?? self::missing('refunds');
        $this->withdrawals = $data['withdrawals'] ?? self::missing('withdrawals');
        $this->disputes = $data['disputes'] ?? self::missing('disputes');
        $this->checks = $data['checks'] ?? self::missing('checks');
        $this->webhooks = $data['webhooks'] ?? self::missing('webhooks');
    }

    public static function from(array $data): static
    {
        return new self($data);
    }
}
