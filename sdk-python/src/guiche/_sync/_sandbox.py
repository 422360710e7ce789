# Written by `npm run sdk:types` from ../_async/_sandbox.py. Edit that, not this file.

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
from ._client import Client, Options


class Sandbox:
    """
    The simulated PIX network. No real money moves. It exists only while the acquirer is the simulator: elsewhere each
    method raises ``not_found``. The SDK does not repeat a change after a lost answer: a payment made twice is two
    payments.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    def pay(
        self, payment: SandboxPayment, *, timeout: float | None = None, max_retries: int | None = None
    ) -> SandboxPaid:
        """
        Pays a QR code as a payer's bank does. Pass ``amount`` (cents) to pay a different amount than that of the code.

        :raises GuicheError: ``payment_refused``, for example because the code has expired, has already been paid or is not
            a Pix code
        """
        options = Options(timeout, max_retries)
        paid: SandboxPaid = self._client.post("/sandbox/payment", options, {**payment})
        return paid

    def open_dispute(
        self, infraction: SandboxInfraction, *, timeout: float | None = None, max_retries: int | None = None
    ) -> SandboxDisputed:
        """
        Opens a dispute (MED) as the payer of the payment with this ``endToEnd``. The result has the ``reference`` to
        pass to ``decide``.
        """
        options = Options(timeout, max_retries)
        disputed: SandboxDisputed = self._client.post("/sandbox/infraction", options, {**infraction})
        return disputed

    def decide(
        self,
        reference: str,
        decision: Literal["accept", "reject", "cancel"],
        *,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> SandboxDisputed:
        """
        Decides a dispute. If it is accepted, the money goes back to the payer; if rejected or canceled, it stays.
        """
        path = f"/sandbox/infraction/{to_segment(reference)}/{to_segment(decision)}"
        disputed: SandboxDisputed = self._client.post(path, Options(timeout, max_retries))
        return disputed

    def return_payment(
        self, input: SandboxReturn, *, timeout: float | None = None, max_retries: int | None = None
    ) -> SandboxPaid:
        """
        The simulated bank, which received the payment, returns it or ``amount`` cents of it under MED, without a
        dispute before.
        """
        options = Options(timeout, max_retries)
        paid: SandboxPaid = self._client.post("/sandbox/return", options, {**input})
        return paid

    def return_withdrawal(
        self,
        id: str,
        input: SandboxWithdrawalReturn | None = None,
        *,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> SandboxPaid:
        """The receiver of a withdrawal sends it back, or ``amount`` cents of it."""
        path = f"/sandbox/withdrawal/{to_segment(id)}/return"
        options = Options(timeout, max_retries)
        paid: SandboxPaid = self._client.post(path, options, {**(input or {})})
        return paid

    def personality(
        self, *, timeout: float | None = None, max_retries: int | None = None
    ) -> SandboxPersonality:
        """The fault profile ("personality") of the simulated bank: which faults it injects, and how often."""
        options = Options(timeout, max_retries)
        personality: SandboxPersonality = self._client.get("/sandbox/personality", options)
        return personality

    def set_personality(
        self, input: SandboxPersonalityInput, *, timeout: float | None = None, max_retries: int | None = None
    ) -> SandboxPersonality:
        """
        Changes the fault profile of the simulated bank, for every client of the service. ``{"name": "honest"}``
        restores the initial one.
        """
        options = Options(timeout, max_retries)
        personality: SandboxPersonality = self._client.post("/sandbox/personality", options, {**input})
        return personality

    def advance_clock(
        self, seconds: int, *, timeout: float | None = None, max_retries: int | None = None
    ) -> SandboxAdvanced:
        """
        Lets time pass for your own records, at most 90 days per call: codes expire, webhooks are retried, delayed
        payments and refunds arrive, deadlines of disputes come closer. Nothing that has already happened changes.
        """
        options = Options(timeout, max_retries)
        advanced: SandboxAdvanced = self._client.post("/sandbox/clock", options, {"advanceSeconds": seconds})
        return advanced
