<?php

declare(strict_types=1);

namespace Guiche;

/** Amounts are integers in cents. */
final class Money
{
    /** Formats cents as people in Brazil read them: `Money::formatBRL(123456)` is `R$ 1.234,56`. */
    public static function formatBRL(int $cents): string
    {
        $digits = str_pad(ltrim((string) $cents, '-'), 3, '0', STR_PAD_LEFT);
        $whole = strrev(implode('.', str_split(strrev(substr($digits, 0, -2)), 3)));
        return ($cents < 0 ? '-' : '') . "R$ $whole," . substr($digits, -2);
    }

    /**
     * Converts reais to cents: `Money::toCents('25.90')` and `Money::toCents(25.9)` are 2590. Use it for amounts in
     * reais: `19.99 * 100` is not 1999 in floating point. Text has a decimal point, as in a database or in WooCommerce,
     * and is converted digit by digit.
     *
     * @throws \InvalidArgumentException if it is no amount, or has fractions of a cent
     */
    public static function toCents(string|int|float $reais): int
    {
        if (is_string($reais)) {
            if (preg_match('/\A(-?)(\d{1,13})(?:\.(\d{1,2})0*)?\z/', $reais, $parts) === 1) {
                return (int) ($parts[1] . $parts[2] . str_pad($parts[3] ?? '', 2, '0'));
            }
        } else {
            $cents = round($reais * 100);
            if (abs($cents) < 2 ** 53 && abs($reais * 100 - $cents) < 1e-4) {
                return (int) $cents;
            }
        }
        throw new \InvalidArgumentException('An amount in reais has two decimals at most, and as text a decimal point: "25.90".');
    }
}
