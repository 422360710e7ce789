from __future__ import annotations

from collections.abc import AsyncIterator

from .._http import to_segment
from ..types import (
    Balance,
    BalanceQuery,
    Delivery,
    DeliveryFilters,
    EventFilters,
    EventSummary,
    Resent,
    StatementEntry,
    StatementFilters,
)
from ._client import AsyncClient, AsyncOptions
from ._list import AsyncList


class AsyncBalances:
    """The balance of the merchant."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def get(
        self, query: BalanceQuery | None = None, *, timeout: float | None = None, max_retries: int | None = None
    ) -> Balance:
        """The balance now, or as it was ``at`` a past time: available, reserved, blocked and owed, in cents."""
        options = AsyncOptions(timeout, max_retries)
        balance: Balance = await self._client.get("/balance", options, {**(query or {})})
        return balance


class AsyncStatement:
    """Everything that changed the available balance."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    def list(
        self,
        filters: StatementFilters | None = None,
        *,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> AsyncList[StatementEntry]:
        """Entries, newest first; amounts in cents, each with the balance after it."""
        return self._client.list("/statement", filters, AsyncOptions(timeout, max_retries))

    def export(
        self,
        filters: StatementFilters | None = None,
        *,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> AsyncIterator[bytes]:
        """All matching entries as CSV (RFC 4180), amounts in cents, in pieces as they arrive."""
        return self._client.export("/statement", filters, AsyncOptions(timeout, max_retries))


class AsyncEvents:
    """Status changes of transactions and withdrawals."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    def list(
        self,
        filters: EventFilters | None = None,
        *,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> AsyncList[EventSummary]:
        """Events of all records, newest first."""
        return self._client.list("/event", filters, AsyncOptions(timeout, max_retries))


class AsyncDeliveries:
    """Webhook deliveries and their attempts."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    def list(
        self,
        filters: DeliveryFilters | None = None,
        *,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> AsyncList[Delivery]:
        """Deliveries, newest first, with their attempts of the last 30 days."""
        return self._client.list("/webhook/delivery", filters, AsyncOptions(timeout, max_retries))

    async def resend(
        self, event_id: str, *, timeout: float | None = None, max_retries: int | None = None
    ) -> Resent:
        """
        Delivers an event again, with the full series of attempts. The SDK does not retry this call: each call may
        deliver once more.
        """
        path = f"/webhook/delivery/{to_segment(event_id)}/resend"
        resent: Resent = await self._client.post(path, AsyncOptions(timeout, max_retries))
        return resent
