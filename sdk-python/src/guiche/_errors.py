"""The errors of the SDK, and how they are read from an answer."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, cast

from .types import FieldError

# Keeps the log readable when a request has a hundred errors.
_SHOWN_MAX = 5


class GuicheError(Exception):
    """
    Every error that the SDK raises because of the service or of a webhook. Others are a ``TypeError`` or ``ValueError``
    for a wrong call of the SDK, and the ``ValueError`` of ``List.all``. The message says what happened and what to do; it
    never contains a secret or a token.
    """

    code: str
    """Stable, in snake case. Compare this, not the message."""
    detail: str
    """What happened and what to do next."""
    status: int | None
    """HTTP status; ``None`` when there was no answer."""
    request_id: str | None
    """Give this to the operator, who finds the request in the log with it."""
    retry_after: float | None
    """Seconds to wait before the next try, if the service said so."""
    errors: Sequence[FieldError]
    """
    All invalid fields of the request, not only the first; or the reasons why the current state of the record does not
    allow the request. Empty for other errors.
    """
    idempotency_key: str | None
    """The idempotency key of the request. Repeat the request with this key, and it is carried out only once."""
    transaction_id: str | None
    """The transaction that the acquirer refused to create or to cancel, or whose outcome is not known yet."""

    def __init__(
        self,
        code: str,
        detail: str,
        *,
        status: int | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        errors: Sequence[FieldError] = (),
        idempotency_key: str | None = None,
        transaction_id: str | None = None,
    ) -> None:
        notes = [code, status and f"HTTP {status}", request_id and f"request {request_id}"]
        super().__init__(f"{_describe(code, detail, errors)} [{', '.join(note for note in notes if note)}]")
        self.code = code
        self.detail = detail
        self.status = status
        self.request_id = request_id
        self.retry_after = retry_after
        self.errors = errors
        self.idempotency_key = idempotency_key
        self.transaction_id = transaction_id

    def with_key(self, idempotency_key: str | None) -> GuicheError:
        """The same error for another call that it ended too."""
        return type(self)(
            self.code,
            self.detail,
            status=self.status,
            request_id=self.request_id,
            retry_after=self.retry_after,
            errors=self.errors,
            idempotency_key=idempotency_key,
            transaction_id=self.transaction_id,
        )


def _describe(code: str, detail: str, errors: Sequence[FieldError]) -> str:
    """
    For an invalid request, ``detail`` names the first error only. The message lists the others too, for a reader who
    sees nothing else.
    """
    if code != "validation_failed" or len(errors) < 2:
        return detail
    shown = [f"{error['field'] or 'The body'} {error['message']}." for error in errors[:_SHOWN_MAX]]
    more = len(errors) - len(shown)
    return " ".join(shown + ([f'And {more} more in "errors".'] if more > 0 else []))


class ValidationError(GuicheError):
    """422: ``errors`` names every field that is missing or wrong. It is empty if the body is not valid JSON."""


class IdempotencyKeyReusedError(GuicheError):
    """422: the idempotency key was already used for a request with different content. Use a new key for a new record."""


class AcquirerRefusedError(GuicheError):
    """
    422: the PSP refused to create a charge, and the transaction has failed; or it refused to cancel one, which can still
    be paid. ``detail`` has the reason, ``transaction_id`` the transaction.
    """


class InsufficientBalanceError(GuicheError):
    """422: the available balance does not cover amount and fee."""


class AuthenticationError(GuicheError):
    """401: the credentials or the token are not valid. If a token was refused, the SDK has already tried once more."""


class PermissionError(GuicheError):
    """
    403: the client lacks a scope, which the operator can grant; or it is not registered; or new charges of its merchant
    are created at another address (``merchant_moved``).
    """


class NotFoundError(GuicheError):
    """404: no record has this id, or it belongs to another merchant."""


class RateLimitedError(GuicheError):
    """429: more requests than the service accepts. The SDK has retried, unless it would have to wait over a minute."""


class AcquirerUnavailableError(GuicheError):
    """
    500 ``acquirer_unavailable``: the PSP did not answer in time, or reports a charge as paid without showing its code
    or payment. The transaction is kept and its outcome will be found: fetch it later by ``transaction_id``. After no
    answer you can also repeat the call: a creation with the same ``idempotency_key``, a cancellation as it was.
    """


class ServerError(GuicheError):
    """
    5xx: the service, or a proxy in front of it, failed or is overloaded; or payouts are frozen (``payouts_stopped``).
    """


class ConnectionError(GuicheError):
    """
    No answer: ``code`` is ``connection_failed`` or ``timeout``, and ``__cause__`` is the error of httpx. It is not known
    whether the request was carried out. Repeated with the same ``idempotency_key``, it is carried out only once.
    """


class WebhookVerificationError(GuicheError):
    """A webhook that cannot be trusted: answer 400 or 401, and do nothing else."""


_CLASSES: dict[str, type[GuicheError]] = {
    "validation_failed": ValidationError,
    "malformed_json": ValidationError,
    "idempotency_key_reused": IdempotencyKeyReusedError,
    "acquirer_refused": AcquirerRefusedError,
    "insufficient_balance": InsufficientBalanceError,
    "acquirer_unavailable": AcquirerUnavailableError,
}

_CLASSES_BY_STATUS: dict[int, type[GuicheError]] = {
    401: AuthenticationError,
    403: PermissionError,
    404: NotFoundError,
    429: RateLimitedError,
}


def to_error(status: int, headers: Mapping[str, str], body: bytes, idempotency_key: str | None) -> GuicheError:
    """The error for an error response, whoever sent it."""
    members = _parse(body)
    # Guichê's routes send problems (RFC 9457), the token endpoint OAuth errors (RFC 6749). Anything else is from a proxy.
    code = _text(members.get("code")) or _text(members.get("error"))
    detail = _text(members.get("detail")) or _text(members.get("error_description"))
    kind = _CLASSES.get(code or "") or _CLASSES_BY_STATUS.get(status)
    kind = kind or (ServerError if status >= 500 else GuicheError)
    is_named = code is not None and detail is not None
    return kind(
        code if code is not None and is_named else "unexpected_answer",
        detail if detail is not None and is_named else _unexpected(status),
        status=status,
        request_id=_text(members.get("requestId")) or headers.get("x-request-id"),
        retry_after=_read_retry_after(headers.get("retry-after")),
        errors=_read_errors(members.get("errors")),
        idempotency_key=idempotency_key,
        transaction_id=_text(members.get("transactionId")),
    )


def unexpected_answer(status: int, idempotency_key: str | None = None) -> GuicheError:
    """The error for an answer that reports success, but whose body is not what Guichê sends."""
    return GuicheError("unexpected_answer", _unexpected(status), status=status, idempotency_key=idempotency_key)


def _unexpected(status: int) -> str:
    if 300 <= status < 400:
        return (
            "The service answered with a redirect, and the SDK does not send credentials to another address. "
            "Set base_url to the final address."
        )
    return "The answer is not from Guichê. Check base_url, and any proxy in front of the service."


def _read_retry_after(header: str | None) -> float | None:
    """Reads a number of seconds or an HTTP date. ``None`` if it is neither."""
    if not header:
        return None
    if header.isascii() and header.isdigit():
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def _parse(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _read_errors(value: object) -> list[FieldError]:
    entries: list[Any] = value if isinstance(value, list) else []
    known = [entry for entry in entries if isinstance(entry, dict) and "field" in entry and "message" in entry]
    return cast("list[FieldError]", known)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value != "" else None
