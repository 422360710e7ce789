from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Protocol, cast

from ._errors import WebhookVerificationError
from .types import WebhookEvent

_SECRET_PREFIX = "whsec_"
# During a change of secrets there are two. Anybody may send more, and each costs a comparison.
_SIGNATURES_MAX = 8


class WebhookHeaders(Protocol):
    """The headers as received: a dict, or the headers of Django, Flask, Starlette or FastAPI."""

    def items(self) -> Iterable[tuple[str, Any]]: ...


def verify_webhook(
    secrets: str | Sequence[str],
    headers: WebhookHeaders,
    raw_body: bytes | str,
    *,
    tolerance: float = 300,
    now: datetime | None = None,
) -> WebhookEvent:
    """
    Verifies that a webhook is from Guichê and recent (Standard Webhooks), and returns its event.

    :param secrets: the ``whsec_…`` secret of your client, or of the webhook endpoint; both secrets during a change
    :param headers: as received; upper and lower case are equal
    :param raw_body: the bytes as received: a body that was parsed and serialized again has another signature
    :param tolerance: how many seconds the signature's time may differ from now
    :param now: the time to compare with, for tests
    :raises WebhookVerificationError: if it cannot be trusted: answer 400 or 401
    :raises TypeError: if a secret is invalid or the body is not raw, which no sender can cause
    """
    keys = [decode_secret(secret) for secret in ([secrets] if isinstance(secrets, str) else secrets)]
    if not keys:
        raise TypeError("verify_webhook needs a secret.")
    if not isinstance(raw_body, (bytes, str)):
        raise TypeError("The raw body is needed, as bytes or text, before anything parses it.")
    body = raw_body.encode() if isinstance(raw_body, str) else raw_body

    id = _read_header(headers, "webhook-id")
    seconds = _read_header(headers, "webhook-timestamp")
    if not re.fullmatch(r"[0-9]{1,12}", seconds):
        raise _refuse("webhook-timestamp is not a number of seconds.")
    current = time.time() if now is None else now.timestamp()
    # Also refuses if the tolerance is not a number.
    if not abs(current - int(seconds)) <= tolerance:
        raise _refuse(
            f"The signature's time is more than {tolerance:g} seconds from now. Is the clock of this machine right?"
        )

    expected = [sign(key, id, seconds, body) for key in keys]
    signatures = _read_signatures(_read_header(headers, "webhook-signature"))
    # Compares every pair in constant time: the duration reveals nothing about a near match.
    matches = [hmac.compare_digest(one, other) for one in expected for other in signatures]
    if True not in matches:
        raise _refuse(
            "No signature matches. Is this the secret of the client or of the webhook endpoint with this address, and "
            "is the body raw, not parsed and serialized again?"
        )
    return _parse_event(body)


def decode_secret(secret: str) -> bytes:
    """A ``whsec_…`` secret as a key."""
    key = _decode(secret[len(_SECRET_PREFIX) :]) if isinstance(secret, str) and secret.startswith(_SECRET_PREFIX) else b""
    # The message does not show the secret, which must not get into a log.
    if not key:
        raise TypeError('A webhook secret is "whsec_" and base64. Is an environment variable missing?')
    return key


def sign(key: bytes, id: str, seconds: str, body: bytes) -> bytes:
    return hmac.new(key, f"{id}.{seconds}.".encode() + body, hashlib.sha256).digest()


def _read_header(headers: WebhookHeaders, name: str) -> str:
    found = next((value for other, value in headers.items() if str(other).lower() == name), None)
    first: Any = found[0] if isinstance(found, (list, tuple)) and found else found
    text = first.decode("latin-1") if isinstance(first, bytes) else first
    if not isinstance(text, str) or text == "":
        raise _refuse(f"The header {name} is missing. Is the request from Guichê, and are all headers passed on?")
    return text


def _read_signatures(header: str) -> Iterable[bytes]:
    """Signatures of version 1, as bytes. Other versions are ignored."""
    supported = [signature for signature in header.split(" ") if signature.startswith("v1,")]
    return [_decode(signature[3:]) for signature in supported[:_SIGNATURES_MAX]]


def _decode(text: str) -> bytes:
    """Empty if the text is not base64."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""


def _parse_event(body: bytes) -> WebhookEvent:
    try:
        event: Any = json.loads(body)
    except ValueError:
        event = None
    if isinstance(event, dict) and isinstance(event.get("type"), str) and isinstance(event.get("data"), dict):
        return cast(WebhookEvent, event)
    raise _refuse("The body is signed, but it is not an event.")


def _refuse(detail: str) -> WebhookVerificationError:
    return WebhookVerificationError("webhook_not_verified", detail)
