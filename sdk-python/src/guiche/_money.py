from __future__ import annotations

from decimal import Decimal, InvalidOperation

_CENTS_MAX = 2**53 - 1


def format_brl(cents: int) -> str:
    """Formats cents as people in Brazil read them: ``format_brl(123456)`` is ``R$ 1.234,56``."""
    if not isinstance(cents, int) or isinstance(cents, bool) or abs(cents) > _CENTS_MAX:
        raise ValueError("An amount is an integer of cents.")
    whole, rest = divmod(abs(cents), 100)
    return f"{'-' if cents < 0 else ''}R$ {whole:,}".replace(",", ".") + f",{rest:02}"


def to_cents(reais: Decimal | float | str) -> int:
    """
    Converts reais to cents: ``to_cents(25.9)`` and ``to_cents("25.90")`` are 2590. Use it for amounts in reais:
    ``int(19.99 * 100)`` is 1998 in floating point.

    :raises ValueError: if the amount has fractions of a cent
    """
    try:
        # The text of a float is the shortest one that means it: 25.9, not 25.899999999999998578.
        cents = Decimal(str(reais)) * 100
        if cents == cents.to_integral_value() and abs(cents) <= _CENTS_MAX:
            return int(cents)
    except InvalidOperation:
        pass
    raise ValueError("An amount in reais has two decimals at most, after a point.")
