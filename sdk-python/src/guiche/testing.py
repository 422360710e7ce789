"""For the tests of a shop: made-up events, signatures like Guichê's, and a receiver on the loopback address."""

from __future__ import annotations

import base64
import json
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, cast, overload

from ._errors import WebhookVerificationError
from ._webhook import decode_secret, sign, verify_webhook
from .types import TransactionEvent, TransactionEventType, WebhookEvent, WithdrawalEvent, WithdrawalEventType

__all__ = ["SignedWebhook", "WebhookReceiver", "create_test_event", "sign_webhook"]

_AMOUNT = 2590
_BODY_MAX = 1024 * 1024
_BEFORE_PAYMENT = ("PENDING", "PIX_QRCODE_GENERATED")
# The statuses that a transaction has before each one. INFRACTION: the bank returns the payment under MED without a
# dispute before.
_STATUSES_BEFORE: dict[str, tuple[str, ...]] = {
    "PENDING": (),
    "PIX_QRCODE_GENERATED": ("PENDING",),
    "FAILED": _BEFORE_PAYMENT,
    "PAID": _BEFORE_PAYMENT,
    "PROCESSING_REFUND": (*_BEFORE_PAYMENT, "PAID"),
    "REFUNDED": (*_BEFORE_PAYMENT, "PAID", "PROCESSING_REFUND"),
    "BLOCKED": (*_BEFORE_PAYMENT, "PAID"),
    "PROCESSING_INFRACTION": (*_BEFORE_PAYMENT, "PAID", "BLOCKED"),
    "INFRACTION": (*_BEFORE_PAYMENT, "PAID"),
}
_DISPUTE_STATUSES = {"BLOCKED": "OPEN", "PROCESSING_INFRACTION": "ACCEPTED", "INFRACTION": "RETURNED"}


@overload
def create_test_event(type: TransactionEventType, data: Mapping[str, Any] | None = None) -> TransactionEvent: ...
@overload
def create_test_event(type: WithdrawalEventType, data: Mapping[str, Any] | None = None) -> WithdrawalEvent: ...
def create_test_event(type: str, data: Mapping[str, Any] | None = None) -> WebhookEvent:
    """
    An event as Guichê would send it, of a made-up record. ``data`` sets the fields that matter to the test::

        event = create_test_event("transaction.paid", {"amount": 2590, "externalCode": "order-2026-0001"})
    """
    record, _, status = type.partition(".")
    now = datetime.now(timezone.utc)
    amount = (data or {}).get("amount", _AMOUNT)
    make = _make_transaction if record == "transaction" else _make_withdrawal
    made = make(status.upper(), now, amount)
    event = {
        "id": str(uuid.uuid4()),
        "type": type,
        "timestamp": _to_text(now),
        "data": {**made, "sequence": len(made["statusHistory"]) - 1, **(data or {})},
    }
    return cast(WebhookEvent, event)


@dataclass(frozen=True)
class SignedWebhook:
    """A delivery as your receiver gets it."""

    headers: dict[str, str]
    body: bytes


def sign_webhook(
    secrets: str | Sequence[str],
    event: WebhookEvent | str,
    *,
    id: str | None = None,
    timestamp: datetime | None = None,
) -> SignedWebhook:
    """
    Signs an event, or any text, as Guichê signs its webhooks. Two secrets give two signatures, as during a change of
    secrets::

        webhook = sign_webhook(secret, create_test_event("transaction.paid", {"amount": 2590}))
        answer = client.post("/webhooks/pix", content=webhook.body, headers=webhook.headers)

    :param id: ``webhook-id``; the event's id by default
    :param timestamp: the time of the signature; now by default
    """
    body = (event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)).encode()
    if id is None:
        id = str(uuid.uuid4()) if isinstance(event, str) else event["id"]
    seconds = str(int((timestamp or datetime.now(timezone.utc)).timestamp()))
    keys = [decode_secret(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    signatures = [base64.b64encode(sign(key, id, seconds, body)).decode() for key in keys]
    return SignedWebhook(
        headers={
            "content-type": "application/json",
            "webhook-id": id,
            "webhook-timestamp": seconds,
            "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
        },
        body=body,
    )


class WebhookReceiver:
    """
    A receiver on the loopback address. It answers 204 to webhooks that verify and keeps them for the test, and 401 to
    others::

        with WebhookReceiver(secret) as receiver:
            created = guiche.transactions.create({"amount": 2590, "webhookUrl": receiver.url})
            paid = receiver.wait_for("transaction.paid", lambda event: event["data"]["id"] == created["id"])

    In a coroutine, wait with ``await asyncio.to_thread(receiver.wait_for, "transaction.paid")``.
    """

    url: str
    """Give this as ``webhookUrl``."""
    events: list[WebhookEvent]
    """Webhooks that verified, in the order of arrival. The same event can be there twice."""
    refused: list[WebhookVerificationError]
    """Errors of the webhooks that did not verify."""

    def __init__(self, secret: str | Sequence[str], *, port: int = 0, tolerance: float = 300) -> None:
        """
        :param secret: the client's ``whsec_…`` secret, or both during a change of secrets
        :param port: any free port by default
        :param tolerance: how many seconds the signature's time may differ from now; ``math.inf`` if the service has a
            test clock
        """
        self.events = []
        self.refused = []
        self._arrived = threading.Condition()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                status = 413 if length > _BODY_MAX else receiver._receive(secret, self, length, tolerance)
                self.send_response(status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"
        # A test that forgets to close the receiver still ends.
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def wait_for(
        self,
        type: str,
        fits: Callable[[WebhookEvent], bool] = lambda event: True,
        *,
        timeout: float = 30.0,
    ) -> WebhookEvent:
        """
        Returns the first event of this type for which ``fits`` returns true. Events that arrived before the call count
        too.

        :raises TimeoutError: if none arrives in time
        """

        def find() -> WebhookEvent | None:
            return next((event for event in self.events if event["type"] == type and fits(event)), None)

        with self._arrived:
            found = self._arrived.wait_for(find, timeout)
        if found is not None:
            return found
        came = ", ".join(event["type"] for event in self.events) or "nothing"
        refused = f" Refused: {self.refused[0].detail}" if self.refused else ""
        raise TimeoutError(f"No matching {type} arrived within {timeout:g} s. Received: {came}.{refused}")

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def __enter__(self) -> WebhookReceiver:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _receive(
        self, secret: str | Sequence[str], request: BaseHTTPRequestHandler, length: int, tolerance: float
    ) -> int:
        # The raw bytes: parsing the body and writing it again would change the signature.
        body = request.rfile.read(length)
        try:
            event = verify_webhook(secret, request.headers, body, tolerance=tolerance)
        except WebhookVerificationError as error:
            self.refused.append(error)
            return 401
        with self._arrived:
            self.events.append(event)
            self._arrived.notify_all()
        return 204


def _make_transaction(status: str, now: datetime, amount: int) -> dict[str, Any]:
    path = [*_STATUSES_BEFORE[status], status]
    disputes = _make_disputes(status, now, amount)
    paid = {
        "amountPaid": amount,
        "amountRefunded": amount if status == "REFUNDED" else 0,
        "refunds": [_make_refund(status, now, amount)] if status in ("REFUNDED", "PROCESSING_REFUND") else [],
        "amountReturned": amount if status == "INFRACTION" else 0,
        "disputes": disputes,
        "returns": [_make_return(one["id"], now, amount) for one in disputes] if status == "INFRACTION" else [],
        "paymentDate": _to_text(now),
        "endToEnd": _make_end_to_end(now),
        "payer": _PAYER,
    }
    return {
        "id": str(uuid.uuid4()),
        "acquirer": "simulator",
        "amount": amount,
        "paymentMethod": "PIX",
        "isInfoProduct": True,
        **_history(path, now),
        **(paid if "PAID" in path else {}),
        "infractionDate": disputes[0]["openedAt"] if disputes else None,
        "pixResponse": {
            "uri": "00020101021226580014br.gov.bcb.pix2536pix.example.com/qr/v2/not-to-be-paid5204000053039865802BR"
            "5904LOJA6009SAO PAULO62070503***6304C0DE",
            "qrCodeBase64": "data:image/png;base64,iVBORw0KGgo=",
            # A code that was not paid fails five minutes after its expiry.
            "expirationDate": _to_text(now + timedelta(minutes=-5 if status == "FAILED" else 30)),
        },
        "errorMessage": "PIX QR code expired" if status == "FAILED" else None,
        **({"failureCode": "expired"} if status == "FAILED" else {}),
    }


def _make_refund(status: str, now: datetime, amount: int) -> dict[str, Any]:
    is_done = status == "REFUNDED"
    return {
        "id": str(uuid.uuid4()),
        "amount": amount,
        "status": "REFUNDED" if is_done else "PROCESSING",
        "endToEndRefund": _make_return_id(now) if is_done else None,
        "reason": None,
        "createdAt": _to_text(now),
    }


def _make_disputes(transaction_status: str, now: datetime, amount: int) -> list[dict[str, Any]]:
    """The dispute that gives a transaction its status. Guichê records one also for a return without a dispute."""
    status = _DISPUTE_STATUSES.get(transaction_status)
    if status is None:
        return []
    is_returned = status == "RETURNED"
    dispute = {
        "id": str(uuid.uuid4()),
        "amount": amount,
        "amountReturned": amount if is_returned else 0,
        "amountBlocked": 0 if is_returned else amount,
        "status": status,
        "reason": None if is_returned else "Made up for a test",
        "openedAt": _to_text(now),
        "deadline": None,
        "finishedAt": _to_text(now) if is_returned else None,
    }
    return [dispute]


def _make_return(dispute_id: str, now: datetime, amount: int) -> dict[str, Any]:
    return {"endToEndRefund": _make_return_id(now), "amount": amount, "disputeId": dispute_id, "date": _to_text(now)}


def _make_withdrawal(status: str, now: datetime, amount: int) -> dict[str, Any]:
    steps = 3 if status == "REFUNDED" else 1 if status in ("CANCELED", "REJECTED", "PROCESSING") else 2
    sent = {"amountWithdrawn": amount, "processedDate": _to_text(now), "endToEnd": _make_end_to_end(now)}
    return {
        "id": str(uuid.uuid4()),
        "acquirer": "simulator",
        "amount": amount,
        "method": "PIX",
        **_history(["PENDING", "PROCESSING", "PROCESSED"][:steps] + [status], now),
        **(sent if status in ("PROCESSED", "REFUNDED") else {}),
        "errorMessage": "Made up for a test" if status in ("FAILED", "REJECTED", "REFUNDED") else None,
        "pixKey": {"key": "+5511987654321", "type": "PHONE"},
    }


def _history(statuses: list[str], now: datetime) -> dict[str, Any]:
    """Statuses one second apart, up to the current one."""
    last = len(statuses) - 1
    dates = [_to_text(now - timedelta(seconds=last - index)) for index in range(len(statuses))]
    return {
        "status": statuses[last],
        "createdAt": dates[0],
        "updatedAt": dates[last],
        "statusHistory": [
            {"status": status, "date": date, "durationInMilliseconds": None if index == last else 1000}
            for index, (status, date) in enumerate(zip(statuses, dates))
        ],
    }


_PAYER = {
    "type": "PF",
    "name": "Maria da Silva",
    "document": "52998224725",
    "bankAccount": {"type": "CACC", "branch": "0001", "number": "123456", "digit": "7", "ispb": "60701190"},
    "pix": {"key": "maria@example.com", "type": "EMAIL"},
}


def _make_end_to_end(now: datetime) -> str:
    return f"E60701190{now:%Y%m%d%H%M}{uuid.uuid4().hex[:11]}"


def _make_return_id(now: datetime) -> str:
    return _make_end_to_end(now).replace("E", "D", 1)


def _to_text(date: datetime) -> str:
    return date.isoformat(timespec="milliseconds").replace("+00:00", "Z")
