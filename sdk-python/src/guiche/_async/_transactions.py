from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable

from .._errors import GuicheError
from .._http import to_segment
from ..types import (
    CreateTransaction,
    EventFilters,
    EventSummary,
    PaymentLink,
    CreateRefund,
    RefundCreated,
    Transaction,
    TransactionCreated,
    TransactionFilters,
    TransactionStatus,
)
from ._client import AsyncClient, AsyncOptions
from ._list import AsyncList

# Simulated payments settle within this time. People take longer, so the pauses grow.
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 5.0
# The last poll begins this long before the end, or a tenth of the wait if that is shorter: an answer takes time.
_LAST_POLL = 1.0


class AsyncTransactions:
    """PIX charges."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def create(
        self, input: CreateTransaction, *, timeout: float | None = None, max_retries: int | None = None
    ) -> TransactionCreated:
        """
        Creates a transaction and returns its QR code, as text and image. Only ``amount``, in cents, is required::

            created = await guiche.transactions.create({
                "amount": 2590,
                "externalCode": "order-2026-0001",
                "idempotencyKey": "order-2026-0001-try-1",
                "webhookUrl": "https://shop.example.com/webhooks/pix",
                "customer": {"name": "Maria da Silva", "document": "529.982.247-25", "email": "maria@example.com"},
            })

        Safe to retry. Give your own ``idempotencyKey``, such as the order number and the number of the
        attempt: then a retry is safe even after your process restarts. Otherwise the SDK makes one for this call.

        :raises ValidationError: with every error at once
        :raises AcquirerRefusedError: the PSP refused the charge
        :raises AcquirerUnavailableError: the PSP did not answer: the outcome is unknown, not failed
        """
        body: dict[str, object] = {"paymentMethod": "PIX", "pix": {}, **input}
        created: TransactionCreated = await self._client.post_with_key(
            "/transaction", AsyncOptions(timeout, max_retries), body
        )
        return created

    async def get(
        self, id: str, *, timeout: float | None = None, max_retries: int | None = None
    ) -> Transaction:
        """
        A transaction as it is now.

        :raises NotFoundError:
        """
        return await self._get(id, AsyncOptions(timeout, max_retries))

    async def wait_for(
        self, id: str, until: TransactionStatus | Callable[[Transaction], bool], *, timeout: float = 30.0
    ) -> Transaction:
        """
        Polls with growing pauses until the transaction has a status or meets your condition, and returns it as it is
        then. For scripts and tests; a shop sets ``webhookUrl`` and receives events instead.

        :raises GuicheError: ``wait_timed_out`` after ``timeout`` seconds, with the last status
        """
        deadline = time.monotonic() + timeout
        last_poll_at = deadline - min(_LAST_POLL, timeout / 10)
        pause = _FIRST_PAUSE
        status = "of unknown status"
        while True:
            failure: GuicheError | None = None
            try:
                found = await self._get(id, AsyncOptions(deadline=deadline))
                if until(found) if callable(until) else found["status"] == until:
                    return found
                status = found["status"]
            except GuicheError as error:
                if time.monotonic() + _FIRST_PAUSE < deadline:
                    raise
                failure = error
            now = time.monotonic()
            next_poll_at = min(now + pause, last_poll_at) if now < last_poll_at else now + pause
            await asyncio.sleep(max(0.0, min(next_poll_at, deadline) - now))
            if next_poll_at >= deadline:
                missed = " and does not meet the condition" if callable(until) else f", not {until}"
                raise GuicheError(
                    "wait_timed_out",
                    f"Transaction {id} is {status}{missed}, after {timeout:g} s. Wait longer, or check again later.",
                ) from failure
            pause = min(_LONGEST_PAUSE, pause * 1.5)

    async def payment_link(
        self, id: str, *, timeout: float | None = None, max_retries: int | None = None
    ) -> PaymentLink:
        """
        The page to send the customer to. It shows the code and the amount, nothing about the customer, and turns to
        "paid" automatically. A transaction always has the same link.

        :raises NotFoundError:
        """
        link: PaymentLink = await self._client.get(
            f"/transaction/{to_segment(id)}/payment-link", AsyncOptions(timeout, max_retries)
        )
        return link

    def list(
        self,
        filters: TransactionFilters | None = None,
        *,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> AsyncList[Transaction]:
        """Transactions, newest first; all filters must match."""
        return self._client.list("/transaction", filters, AsyncOptions(timeout, max_retries))

    def export(
        self,
        filters: TransactionFilters | None = None,
        *,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> AsyncIterator[bytes]:
        """All matching transactions as CSV (RFC 4180), amounts in cents, in pieces as they arrive."""
        return self._client.export("/transaction", filters, AsyncOptions(timeout, max_retries))

    async def refund(
        self,
        id: str,
        input: CreateRefund | None = None,
        *,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> RefundCreated:
        """
        Refunds the payer, within 90 days of the payment: ``amount`` cents, or all that is left. The outcome shows in
        the transaction and its events.

        Safe to retry, like ``create``.

        :raises GuicheError: ``refund_not_possible``, ``insufficient_balance`` or ``payouts_stopped``
        """
        body = {**(input or {})}
        refund: RefundCreated = await self._client.post_with_key(
            f"/transaction/{to_segment(id)}/refund", AsyncOptions(timeout, max_retries), body
        )
        return refund

    async def cancel(self, id: str, *, timeout: float | None = None, max_retries: int | None = None) -> Transaction:
        """
        Cancels an open charge, so that nobody can pay it: the transaction is FAILED with ``failureCode``
        ``canceled``. If it is canceled already, the answer is the same.

        :raises GuicheError: ``cancel_not_possible`` once it was paid, or has failed for another reason
        :raises AcquirerRefusedError: the PSP refused to cancel the charge, which can still be paid
        :raises AcquirerUnavailableError: the outcome is not known yet: the PSP did not answer, or reports the charge as
            paid without showing the payment. Fetch the transaction later, or repeat the call
        """
        canceled: Transaction = await self._client.post(
            f"/transaction/{to_segment(id)}/cancel", AsyncOptions(timeout, max_retries), is_repeatable=True
        )
        return canceled

    def events(
        self,
        id: str,
        filters: EventFilters | None = None,
        *,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> AsyncList[EventSummary]:
        """Status changes of one transaction, newest first."""
        path = f"/transaction/{to_segment(id)}/event"
        return self._client.list(path, filters, AsyncOptions(timeout, max_retries))

    async def _get(self, id: str, options: AsyncOptions) -> Transaction:
        found: Transaction = await self._client.get(f"/transaction/{to_segment(id)}", options)
        return found
