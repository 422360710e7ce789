from __future__ import annotations

from typing import Literal

from .._http import to_segment
from ..types import (
    SandboxAdvanced,
    SandboxDisputed,
    SandboxInfraction,
    SandboxPaid,
    SandboxPayment,
    SandboxPersonality,
    SandboxPersonalityInput,
    SandboxReturn,
    SandboxWithdrawalReturn,
)
from ._client import AsyncClient, AsyncOptions


class AsyncSandbox:
    """
    The simulated PIX network. No real money moves. It exists only while the acquirer is the simulator: elsewhere each
    method raises ``not_found``. The SDK retries none of these calls: a payment made twice is two payments.
    """

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def pay(
        self, payment: SandboxPayment, *, timeout: float | None = None, max_retries: int | None = None
    ) -> SandboxPaid:
        """
        Pays a QR code as a payer's bank does. ``amount``, in cents, pays another amount than the code says.

        :raises GuicheError: ``payment_refused``: the code has expired, is paid already, or is not a code
        """
        options = AsyncOptions(timeout, max_retries)
        paid: SandboxPaid = await self._client.post("/sandbox/payment", options, {**payment})
        return paid

    async def open_dispute(
        self, infraction: SandboxInfraction, *, timeout: float | None = None, max_retries: int | None = None
    ) -> SandboxDisputed:
        """
        Opens a dispute (MED) by the payer of a payment, named by its ``endToEnd``. The answer has the ``reference`` for
        ``decide``.
        """
        options = AsyncOptions(timeout, max_retries)
        disputed: SandboxDisputed = await self._client.post("/sandbox/infraction", options, {**infraction})
        return disputed

    async def decide(
        self,
        reference: str,
        decision: Literal["accept", "reject", "cancel"],
        *,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> SandboxDisputed:
        """Decides a dispute. Accepted, the money goes back to the payer; rejected or canceled, it stays."""
        path = f"/sandbox/infraction/{to_segment(reference)}/{to_segment(decision)}"
        disputed: SandboxDisputed = await self._client.post(path, AsyncOptions(timeout, max_retries))
        return disputed

    async def return_payment(
        self, input: SandboxReturn, *, timeout: float | None = None, max_retries: int | None = None
    ) -> SandboxPaid:
        """The payer's bank returns a payment under MED without announcing it."""
        options = AsyncOptions(timeout, max_retries)
        paid: SandboxPaid = await self._client.post("/sandbox/return", options, {**input})
        return paid

    async def return_withdrawal(
        self,
        id: str,
        input: SandboxWithdrawalReturn | None = None,
        *,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> SandboxPaid:
        """The receiver of a withdrawal sends it back, or ``amount`` cents of it."""
        path = f"/sandbox/withdrawal/{to_segment(id)}/return"
        options = AsyncOptions(timeout, max_retries)
        paid: SandboxPaid = await self._client.post(path, options, {**(input or {})})
        return paid

    async def personality(
        self, *, timeout: float | None = None, max_retries: int | None = None
    ) -> SandboxPersonality:
        """The fault profile of the simulated bank."""
        options = AsyncOptions(timeout, max_retries)
        personality: SandboxPersonality = await self._client.get("/sandbox/personality", options)
        return personality

    async def set_personality(
        self, input: SandboxPersonalityInput, *, timeout: float | None = None, max_retries: int | None = None
    ) -> SandboxPersonality:
        """
        Changes the fault profile of the simulated bank, for every client of the service. ``{"name": "honest"}``
        restores the initial one.
        """
        options = AsyncOptions(timeout, max_retries)
        personality: SandboxPersonality = await self._client.post("/sandbox/personality", options, {**input})
        return personality

    async def advance_clock(
        self, seconds: int, *, timeout: float | None = None, max_retries: int | None = None
    ) -> SandboxAdvanced:
        """
        Lets time pass for your open records: charges expire, and webhooks, disputes and refunds become due. The answer
        counts what did.
        """
        options = AsyncOptions(timeout, max_retries)
        advanced: SandboxAdvanced = await self._client.post("/sandbox/clock", options, {"advanceSeconds": seconds})
        return advanced
