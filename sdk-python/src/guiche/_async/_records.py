from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable

from .._errors import GuicheError, unexpected_answer
from .._http import is_interruption, to_segment
from ..types import (
    Balance,
    BalanceQuery,
    Delivery,
    DeliveryFilters,
    EventFilters,
    EventSummary,
    FeedEvent,
    FeedPage,
    FeedQuery,
    FollowQuery,
    Resent,
    StatementEntry,
    StatementFilters,
    WebhookEvent,
)
from ._client import AsyncClient, AsyncOptions
from ._list import AsyncList

# The longest that the service accepts.
_LONGEST_WAIT = 20
_FOLLOW_TIMEOUT = 30.0
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 30.0
# So that a wrong Retry-After does not stop the events for long.
_LONGEST_RETRY_AFTER = 3600.0


class AsyncBalances:
    """The balance of the merchant."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def get(
        self, query: BalanceQuery | None = None, *, timeout: float | None = None, max_retries: int | None = None
    ) -> Balance:
        """The balance now, or as it was ``at`` a past time: available, reserved, blocked and debt, in cents."""
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

    async def follow(
        self,
        query: FollowQuery | None = None,
        *,
        on_interruption: Callable[[GuicheError], None] = lambda error: None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> AsyncIterator[FeedEvent]:
        """
        Follows the feed for ever: every event once, in order, as soon as it is committed. Save ``event["position"]``
        when you have processed the event, in the same transaction if you can, and begin there after a restart::

            async for event in guiche.events.follow({"after": load_position() or "start"}):
                if event["type"] == "transaction.paid":
                    # An order can have several of these, for example after a partial refund: ship it only once.
                    ship_once(event["data"])
                save_position(event["position"])

        While the service cannot be reached, limits the rate or answers with a 5xx, it tries again, with growing pauses of
        up to half a minute, or as long as the service asks for, up to an hour.

        :param on_interruption: called before each of these pauses
        :raises GuicheError: ``position_unknown`` if the feed does not have the position: the service's database was
            restored to an earlier moment, or the position is from elsewhere; and any error that a repeat cannot solve
        """
        limit = _FOLLOW_TIMEOUT if timeout is None else timeout
        # If there is no event, the service answers only when the wait is over. That must be well within the time limit.
        wait = int(min(_LONGEST_WAIT, limit / 1.5))
        parameters: dict[str, object] = {"after": "start", **(query or {}), "wait": wait}
        options = AsyncOptions(limit, max_retries)
        pause = _FIRST_PAUSE
        while True:
            started_at = time.monotonic()
            retry_after = 0.0
            try:
                page: FeedPage = await self._client.get("/event", options, parameters)
            except GuicheError as error:
                if not is_interruption(error):
                    raise
                on_interruption(error)
                retry_after = min(_LONGEST_RETRY_AFTER, error.retry_after or 0.0)
            else:
                try:
                    events, position, has_more = page["data"], page["next"], page["hasMore"]
                except KeyError:
                    raise unexpected_answer(200) from None
                for event in events:
                    yield event
                parameters["after"] = position
                pause = _FIRST_PAUSE
                # An empty page without the wait: the service already holds too many waiting requests or is shutting
                # down, or the time limit is too short for a wait.
                if events or has_more or time.monotonic() - started_at > _FIRST_PAUSE:
                    continue
            await asyncio.sleep(max(pause, retry_after))
            pause = min(_LONGEST_PAUSE, 2 * pause)

    async def read(
        self, query: FeedQuery, *, timeout: float | None = None, max_retries: int | None = None
    ) -> FeedPage:
        """One page of the feed, oldest first: the events after a position. Read on from its ``next``."""
        page: FeedPage = await self._client.get("/event", AsyncOptions(timeout, max_retries), {**query})
        return page

    async def get(
        self, event_id: str, *, timeout: float | None = None, max_retries: int | None = None
    ) -> WebhookEvent:
        """One event, as its webhook has it."""
        path = f"/event/{to_segment(event_id)}"
        event: WebhookEvent = await self._client.get(path, AsyncOptions(timeout, max_retries))
        return event

    def list(
        self,
        filters: EventFilters | None = None,
        *,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> AsyncList[EventSummary]:
        """
        Events of all transactions and withdrawals, newest first, each with the state of its delivery to the record's
        ``webhookUrl``.
        """
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
        """Deliveries, newest first, with their attempts, as long as those are kept."""
        return self._client.list("/webhook/delivery", filters, AsyncOptions(timeout, max_retries))

    async def resend(
        self,
        event_id: str,
        *,
        endpoint_id: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> Resent:
        """
        Delivers an event again, with the full series of attempts: to every address that it was sent to, or to the
        endpoint ``endpoint_id``. The SDK does not repeat this call after a lost answer: each call may deliver once more.
        """
        query = "" if endpoint_id is None else f"?endpointId={to_segment(endpoint_id)}"
        path = f"/webhook/delivery/{to_segment(event_id)}/resend{query}"
        resent: Resent = await self._client.post(path, AsyncOptions(timeout, max_retries))
        return resent
