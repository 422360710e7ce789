<?php

// Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

declare(strict_types=1);

namespace Guiche\Types;

/** The reason of a change of the available balance. A newer service may have more. */
final class StatementKind
{
    public const PAYMENT = 'payment';
    public const FEE = 'fee';
    public const DEBT_REPAID = 'debt_repaid';
    public const REFUND_RESERVED = 'refund_reserved';
    public const REFUND_SENT = 'refund_sent';
    public const REFUND_RELEASED = 'refund_released';
    public const FEE_RETURNED = 'fee_returned';
    public const FEE_RETURN_REVERSED = 'fee_return_reversed';
    public const INFRACTION_BLOCKED = 'infraction_blocked';
    public const INFRACTION_RETURNED = 'infraction_returned';
    public const INFRACTION_RELEASED = 'infraction_released';
    public const WITHDRAWAL_RESERVED = 'withdrawal_reserved';
    public const WITHDRAWAL_SENT = 'withdrawal_sent';
    public const WITHDRAWAL_RELEASED = 'withdrawal_released';
    public const WITHDRAWAL_RETURNED = 'withdrawal_returned';
    public const PAYMENT_HELD = 'payment_held';
    public const HELD_RETURNED = 'held_returned';
    public const HELD_MATCHED = 'held_matched';
    public const MATCH_UNDONE = 'match_undone';
    public const CORRECTION = 'correction';
    public const FEES_DRAWN = 'fees_drawn';
    public const PAY_IN = 'pay_in';
    public const DEBT_WRITTEN_OFF = 'debt_written_off';
    public const PSP_FEE = 'psp_fee';
    public const MANUAL = 'manual';
    public const MOVED_OUT = 'moved_out';
    public const MOVED_IN = 'moved_in';
}
