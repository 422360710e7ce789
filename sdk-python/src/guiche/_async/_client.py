"""Calls with an access token: what the resources are built on."""

from __future__ import annotations

import asyncio
import inspect  # async only
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import httpx

from .._errors import AuthenticationError, GuicheError, to_error, unexpected_answer
from .._http import (
    Call,
    check_token,
    may_repeat,
    new_key,
    pause_before,
    read_json,
    to_connection_error,
    to_list_call,
    with_key,
)
from ._list import AsyncList

# A token is renewed this many seconds before it expires, or a tenth of its lifetime before, whichever is shorter: a
# request takes time to arrive.
_RENEW_BEFORE = 30.0

AsyncAccessToken = Callable[[], "str | None | Awaitable[str | None]"]


@dataclass(frozen=True)
class AsyncSettings:
    base_url: str
    timeout: float
    max_retries: int
    http: httpx.AsyncClient


@dataclass(frozen=True)
class AsyncOptions:
    """The limits of one call. ``None`` means the client's."""

    timeout: float | None = None
    max_retries: int | None = None
    # The time, on the monotonic clock, after which nothing is tried again.
    deadline: float | None = None


class AsyncRenewal:
    """One request for a token at a time, and the error of the last one."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.failures = 0
        self.failure: GuicheError | None = None


class AsyncTokens:
    """Tokens for a client's credentials, or those that the caller gets elsewhere."""

    def __init__(
        self, settings: AsyncSettings, credentials: tuple[str, str] | None, access_token: AsyncAccessToken | None
    ) -> None:
        self._settings = settings
        self._credentials = credentials
        self._access_token = access_token
        self._current: tuple[str, float] | None = None
        self._renewals: dict[AsyncOptions, AsyncRenewal] = {}

    async def get(self, call: Call, options: AsyncOptions) -> str | None:
        """A token that is valid as far as is known, within the limits of the call. ``None`` if none is sent."""
        if self._access_token is not None:
            token: Any = self._access_token()
            if inspect.isawaitable(token):  # async only
                token = await token  # async only
            return check_token(token)
        current = self._valid()
        if current is not None:
            return current
        # All calls with the same limits that wait for a token share one request, and its error.
        renewal = self._renewals.setdefault(options, AsyncRenewal())
        failures = renewal.failures
        async with renewal.lock:
            current = self._valid()
            if current is not None:
                return current
            if renewal.failures != failures and renewal.failure is not None:
                raise renewal.failure.with_key(call.idempotency_key) from renewal.failure
            try:
                return await self._renew(options)
            except GuicheError as error:
                renewal.failures += 1
                renewal.failure = error
                # An earlier try of the call may have been carried out: the caller needs its key.
                raise error.with_key(call.idempotency_key) from error

    def drop(self, token: str | None) -> None:
        """Called after the service refused the token: the next ``get`` returns another, if there is one."""
        # Another call may have fetched a newer token in the meantime. Keep that one.
        if self._current is not None and self._current[0] == token:
            self._current = None

    def _valid(self) -> str | None:
        current = self._current
        return current[0] if current is not None and time.monotonic() < current[1] else None

    async def _renew(self, options: AsyncOptions) -> str:
        assert self._credentials is not None
        client_id, client_secret = self._credentials
        form = {"client_id": client_id, "client_secret": client_secret, "grant_type": "client_credentials"}
        # Repeatable, since an extra token has no effect.
        call = Call("POST", "/auth/token", form=form, is_repeatable=True)
        requested_at = time.monotonic()
        grant = await send(self._settings, call, None, options)
        token = grant.get("access_token") if isinstance(grant, dict) else None
        # Not `expires_in`: in this API it is a point in time, not a lifetime.
        lifetime = grant.get("expires_in_sec") if isinstance(grant, dict) else None
        if not isinstance(token, str) or not isinstance(lifetime, (int, float)):
            raise unexpected_answer(200)
        self._current = (token, requested_at + lifetime - min(_RENEW_BEFORE, lifetime / 10))
        self._renewals.clear()
        return token


class AsyncClient:
    def __init__(self, settings: AsyncSettings, tokens: AsyncTokens) -> None:
        self.settings = settings
        self._tokens = tokens

    async def get(self, path: str, options: AsyncOptions, query: Mapping[str, object] | None = None) -> Any:
        return await self._request(Call("GET", path, query=query, is_repeatable=True), options)

    async def post(
        self,
        path: str,
        options: AsyncOptions,
        body: Mapping[str, object] | None = None,
        *,
        is_repeatable: bool = False,
    ) -> Any:
        return await self._request(Call("POST", path, body=body, is_repeatable=is_repeatable), options)

    async def change(
        self,
        method: Literal["PATCH", "DELETE"],
        path: str,
        options: AsyncOptions,
        body: Mapping[str, object] | None = None,
    ) -> Any:
        """Repeats a PATCH, which has the same effect twice, but no DELETE: a second one would find nothing."""
        return await self._request(Call(method, path, body=body, is_repeatable=method == "PATCH"), options)

    async def post_with_key(self, path: str, options: AsyncOptions, body: Mapping[str, object]) -> Any:
        """A call that the SDK may retry, since all its tries are one request."""
        return await self._request(with_key(path, body), options)

    def list(self, path: str, filters: object, options: AsyncOptions) -> AsyncList[Any]:
        given = _to_mapping(filters)

        async def fetch(more: Mapping[str, object]) -> Any:
            return await self._request(to_list_call(path, {**given, **more}), options)

        return AsyncList(fetch, given)

    async def export(self, path: str, filters: object, options: AsyncOptions) -> AsyncIterator[bytes]:
        """All matching records as CSV, in pieces."""
        call = to_list_call(path, _to_mapping(filters), ".csv")
        response = await self._request(call, options, is_streamed=True)
        try:
            async for piece in response.aiter_bytes():
                yield piece
        except httpx.HTTPError as error:
            read_timeout = response.request.extensions["timeout"]["read"]
            raise to_connection_error(
                call,
                request_id=response.request.headers["x-request-id"],
                timeout=read_timeout if isinstance(error, httpx.TimeoutException) else None,
            ) from error
        finally:
            await response.aclose()

    async def _request(self, call: Call, options: AsyncOptions, *, is_streamed: bool = False) -> Any:
        token = await self._tokens.get(call, options)
        try:
            return await send(self.settings, call, token, options, is_streamed=is_streamed)
        except AuthenticationError as error:
            # The request was refused before it was carried out, so any request may be sent again with a new token.
            if not error.code.startswith(("token_", "invalid_token")):
                raise
        self._tokens.drop(token)
        token = await self._tokens.get(call, options)
        return await send(self.settings, call, token, options, is_streamed=is_streamed)


async def send(
    settings: AsyncSettings, call: Call, token: str | None, options: AsyncOptions, *, is_streamed: bool = False
) -> Any:
    """
    Sends a call, retries it where that is safe and may help, and returns the answer's JSON; or the open response, which
    the caller closes.
    """
    max_retries = settings.max_retries if options.max_retries is None else options.max_retries
    retry = 0
    while True:
        try:
            return await _send_once(settings, call, token, options, is_streamed)
        except GuicheError as error:
            if retry >= max_retries or not may_repeat(call, error):
                raise
            pause = pause_before(error, retry)
            left = math.inf if options.deadline is None else options.deadline - time.monotonic()
            await asyncio.sleep(max(0.0, min(pause, left)))
            if pause >= left:
                raise
        retry += 1


async def _send_once(
    settings: AsyncSettings, call: Call, token: str | None, options: AsyncOptions, is_streamed: bool
) -> Any:
    timeout = settings.timeout if options.timeout is None else options.timeout
    if options.deadline is not None:
        timeout = max(0.001, min(timeout, options.deadline - time.monotonic()))
    ends_at = time.monotonic() + timeout
    request_id = new_key()
    # Outside the `try`: the caller has to fix a wrong argument. A retry would not help.
    request = settings.http.build_request(
        call.method,
        call.url(settings.base_url),
        headers=call.headers(token, request_id),
        content=call.content(),
        timeout=timeout,
    )
    try:
        # Following a redirect would send the credentials along.
        response = await settings.http.send(request, stream=True, follow_redirects=False)
        is_csv = response.headers.get("content-type", "").startswith("text/csv")
        if is_streamed and response.is_success and is_csv:
            return response
        try:
            body = await _read(response, ends_at)
        finally:
            await response.aclose()
    except httpx.HTTPError as error:
        limit = timeout if isinstance(error, httpx.TimeoutException) else None
        raise to_connection_error(call, request_id=request_id, timeout=limit) from error
    if not response.is_success:
        raise to_error(response.status_code, response.headers, body, call.idempotency_key)
    is_deletion = call.method == "DELETE"
    # A proxy may answer 200 with a page of its own.
    if is_streamed or (is_deletion and response.status_code != 204):
        raise unexpected_answer(response.status_code)
    return None if is_deletion else read_json(call, response.status_code, body)


async def _read(response: httpx.Response, ends_at: float) -> bytes:
    pieces: list[bytes] = []
    async for piece in response.aiter_bytes():
        # The timeout of httpx is for each piece.
        if time.monotonic() > ends_at:
            raise httpx.ReadTimeout("The answer took too long.")
        pieces.append(piece)
    return b"".join(pieces)


def _to_mapping(filters: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", {} if filters is None else filters)
