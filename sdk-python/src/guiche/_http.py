"""What both clients, sync and async, decide in the same way about a call. Nothing here waits or sends."""

from __future__ import annotations

import json
import random
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from urllib.parse import urlencode

from ._errors import ConnectionError, GuicheError, RateLimitedError, unexpected_answer

USER_AGENT = "guiche-python/0.1.0"

_FIRST_PAUSE = 0.5
_LONGEST_PAUSE = 8.0
# If the service asks for a longer wait, the caller gets the error instead.
_RETRY_AFTER_MAX = 60.0
# The request was refused before it was carried out, or its outcome is unknown.
_REPEATED_STATUSES = (408, 500, 502, 503, 504)


@dataclass(frozen=True)
class Call:
    method: Literal["GET", "POST", "PATCH", "DELETE"]
    # Appended to base_url. Parts from the caller have been checked.
    path: str
    query: Mapping[str, object] | None = None
    body: Mapping[str, object] | None = None
    form: Mapping[str, str] | None = None
    idempotency_key: str | None = None
    # True if sending the call twice has the same effect as sending it once, such as a GET or a call with an idempotency
    # key.
    is_repeatable: bool = False
    accept: str = "application/json"

    def headers(self, token: str | None, request_id: str) -> dict[str, str]:
        headers = {"accept": self.accept, "user-agent": USER_AGENT, "x-request-id": request_id}
        if self.form is not None:
            headers["content-type"] = "application/x-www-form-urlencoded"
        elif self.body is not None:
            headers["content-type"] = "application/json"
        if token is not None:
            headers["authorization"] = f"Bearer {token}"
        return headers

    def content(self) -> bytes | None:
        if self.form is not None:
            return urlencode(self.form).encode()
        return None if self.body is None else json.dumps(self.body, default=_to_text, allow_nan=False).encode()

    def url(self, base_url: str) -> str:
        query = urlencode(_to_pairs(self.query)) if self.query else ""
        return f"{base_url}{self.path}{query and f'?{query}'}"


def new_key() -> str:
    """128 random bits, for an idempotency key or a request id."""
    return secrets.token_hex(16)


def may_repeat(call: Call, error: GuicheError) -> bool:
    if (error.retry_after or 0) > _RETRY_AFTER_MAX:
        return False
    # Refused before anything was done, so that any request may be sent again.
    if isinstance(error, RateLimitedError):
        return True
    # Payouts are frozen until a person ends the freeze.
    if not call.is_repeatable or error.code == "payouts_stopped":
        return False
    return isinstance(error, ConnectionError) or error.status in _REPEATED_STATUSES


def is_interruption(error: GuicheError) -> bool:
    """True if the same request can succeed later."""
    return isinstance(error, ConnectionError) or error.status in (408, 429) or (error.status or 0) >= 500


def pause_before(error: GuicheError, retry: int) -> float:
    """
    The pause that the service asks for; else twice the previous one. It is random in part, so that many clients do not
    retry at the same moment.
    """
    if error.retry_after is not None:
        return error.retry_after + random.random() / 10
    return min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0**retry) * (0.5 + random.random() / 2)


def read_json(call: Call, status: int, body: bytes) -> Any:
    """Reads a JSON object, or raises ``unexpected_answer``."""
    try:
        value = json.loads(body)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise unexpected_answer(status, call.idempotency_key)
    return value


def to_connection_error(call: Call, *, request_id: str, timeout: float | None) -> ConnectionError:
    """The error for a lost answer. ``timeout`` is the time limit if it ended the try."""
    what = (
        "The service could not be reached, or the connection broke"
        if timeout is None
        else f"No answer within {timeout:g} s"
    )
    if not call.is_repeatable:
        then = "It is not known whether the request was carried out. Check before you repeat it."
    elif call.idempotency_key is None:
        then = "Is base_url right, and is the service running?"
    else:
        then = (
            "It is not known whether the request was carried out. Repeat it with the same idempotencyKey: "
            "it is carried out only once."
        )
    return ConnectionError(
        "connection_failed" if timeout is None else "timeout",
        f"{what} ({call.method} {call.path}). {then}",
        request_id=request_id,
        idempotency_key=call.idempotency_key,
    )


# Filters that identify a person.
_PERSONAL = ("customerName", "customerEmail", "customerDocument", "customerPhone", "pixKey")


def to_list_call(path: str, filters: Mapping[str, object], suffix: Literal["", ".csv"] = "") -> Call:
    """Filters go into the query string, except those that identify a person: servers and proxies log URLs."""
    given = _given(filters)
    accept = "text/csv" if suffix else "application/json"
    if any(name in given for name in _PERSONAL):
        return Call("POST", f"{path}/search{suffix}", body=given, is_repeatable=True, accept=accept)
    return Call("GET", f"{path}{suffix}", query=given, is_repeatable=True, accept=accept)


def to_segment(id: str) -> str:
    """An id as a path segment. Anything with other characters is not an id and could change the path."""
    if isinstance(id, str) and re.fullmatch(r"[A-Za-z0-9_-]{1,64}", id):
        return id
    raise TypeError("The id of a record is needed: letters, digits and hyphens.")


def with_key(path: str, given: Mapping[str, object]) -> Call:
    """
    A POST with an idempotency key. If the caller gave none, one is made for this call, so that all its tries are one
    request.
    """
    key = given.get("idempotencyKey")
    key = new_key() if key is None else key
    return Call(
        "POST",
        path,
        body={**given, "idempotencyKey": key},
        idempotency_key=key if isinstance(key, str) else None,
        is_repeatable=True,
    )


def read_base_url(text: str) -> str:
    is_right = isinstance(text, str) and re.fullmatch(r"https?://[^\s/?#@]+[^\s?#@]*", text)
    # The message does not show the URL, which may contain a password.
    if not is_right:
        raise ValueError(
            "base_url must be an http or https address without credentials, query or fragment, such as "
            "https://pix.example.com"
        )
    return text.rstrip("/")


def check_token(token: str | None) -> str | None:
    # Checked here, because the error of an invalid header would contain the header.
    if token is None or (isinstance(token, str) and re.fullmatch(r"[A-Za-z0-9_.~+/-]+=*", token)):
        return token
    raise TypeError('access_token must return the token without "Bearer".')


def _given(filters: Mapping[str, object]) -> dict[str, object]:
    """The filters that are set."""
    for name, value in filters.items():
        # Without this check an empty list would be left out, and a caller who asks for nothing would get everything.
        if isinstance(value, (list, tuple)) and len(value) == 0:
            raise ValueError(f"{name} is an empty list. Leave it out to disable the filter.")
    return {name: value for name, value in filters.items() if value is not None}


def _to_pairs(filters: Mapping[str, object]) -> list[tuple[str, str]]:
    """Lists become repeated parameters, and dates ISO 8601."""
    pairs: list[tuple[str, str]] = []
    for name, value in _given(filters).items():
        values: list[Any] | tuple[Any, ...] = value if isinstance(value, (list, tuple)) else [value]
        pairs += [(name, _to_text(one)) for one in values]
    return pairs


def _to_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int)):
        return str(value)
    if isinstance(value, datetime):
        # The service would take the local time of this machine for UTC.
        if value.tzinfo is None:
            raise ValueError("A datetime needs a time zone, such as datetime.now(timezone.utc).")
        return value.isoformat()
    raise TypeError(f"A {type(value).__name__} cannot be sent. Use text, int, bool or datetime.")
