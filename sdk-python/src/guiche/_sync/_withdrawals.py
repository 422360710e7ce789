# Written by `npm run sdk:types` from ../_async/_withdrawals.py. Edit that, not this file.

from __future__ import annotations

from collections.abc import Iterator

from .._http import to_segment
from ..types import (
    CreateWithdrawal,
    EventFilters,
    EventSummary,
    Withdrawal,
    WithdrawalCreated,
    WithdrawalFilters,
)
from ._client import Client, Options
from ._list import List


class Withdrawals:
    """PIX payouts."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def create(
        self, input: CreateWithdrawal, *, timeout: float | None = None, max_retries: int | None = None
    ) -> WithdrawalCreated:
        """
        Sends money to a PIX key. Amount and fee are reserved immediately. ``hold`` in the answer says whether it is
        pending review, and why::

            guiche.withdrawals.create({
                "amount": 150_000,
                "pixKey": {"key": "+5511987654321", "type": "PHONE"},
                "idempotencyKey": "payout-2026-0001-try-1",
            })

        Safe to retry. Give your own ``idempotencyKey``, such as the number of the payout and of the attempt: then a retry
        is safe even after your process restarts. Otherwise the SDK makes one for this call.

        :raises InsufficientBalanceError: the available balance does not cover amount and fee
        :raises GuicheError: ``withdrawal_not_possible``: beyond a limit, which ``errors`` names; ``payouts_stopped``
        """
        body: dict[str, object] = {"method": "PIX", **input}
        created: WithdrawalCreated = self._client.post_with_key(
            "/withdrawal", Options(timeout, max_retries), body
        )
        return created

    def get(self, id: str, *, timeout: float | None = None, max_retries: int | None = None) -> Withdrawal:
        """
        A withdrawal as it is now.

        :raises NotFoundError:
        """
        found: Withdrawal = self._client.get(
            f"/withdrawal/{to_segment(id)}", Options(timeout, max_retries)
        )
        return found

    def list(
        self,
        filters: WithdrawalFilters | None = None,
        *,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> List[Withdrawal]:
        """Withdrawals, newest first; all filters must match."""
        return self._client.list("/withdrawal", filters, Options(timeout, max_retries))

    def export(
        self,
        filters: WithdrawalFilters | None = None,
        *,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> Iterator[bytes]:
        """All matching withdrawals as CSV (RFC 4180), amounts in cents, in pieces as they arrive."""
        return self._client.export("/withdrawal", filters, Options(timeout, max_retries))

    def cancel(self, id: str, *, timeout: float | None = None, max_retries: int | None = None) -> Withdrawal:
        """
        Cancels a withdrawal that was not sent yet. If it is canceled already, the answer is the same.

        :raises GuicheError: ``withdrawal_not_possible`` once it is PROCESSING or has ended
        """
        return self._act(id, "cancel", Options(timeout, max_retries))

    def confirm(self, id: str, *, timeout: float | None = None, max_retries: int | None = None) -> Withdrawal:
        """
        Confirms a withdrawal that is pending review because it looks like a duplicate (``hold`` is ``duplicate``). It
        is then sent, or waits for the operator.

        :raises GuicheError: ``withdrawal_not_possible`` if it was never pending review as a duplicate, or was
            canceled or rejected
        """
        return self._act(id, "confirm", Options(timeout, max_retries))

    def events(
        self,
        id: str,
        filters: EventFilters | None = None,
        *,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> List[EventSummary]:
        """Status changes of one withdrawal, newest first."""
        path = f"/withdrawal/{to_segment(id)}/event"
        return self._client.list(path, filters, Options(timeout, max_retries))

    def _act(self, id: str, action: str, options: Options) -> Withdrawal:
        path = f"/withdrawal/{to_segment(id)}/{action}"
        withdrawal: Withdrawal = self._client.post(path, options, is_repeatable=True)
        return withdrawal
