"""A service that answers as the test says, and helpers for calls at the same time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import patch

import httpx

from guiche import AsyncGuiche, Guiche

SECRET = "a-secret-that-no-message-shows"


class Service:
    """Answers each request with the next planned answer of its route, and repeats the last one."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self._plans: dict[str, list[Any]] = {}
        self.plan("POST /auth/token", granted("token-1"), granted("token-2"))

    def plan(self, route: str, *answers: Any) -> None:
        self._plans[route] = list(answers)

    def count(self, route: str) -> int:
        return sum(to_route(request) == route for request in self.requests)

    def last(self, route: str) -> httpx.Request:
        return [request for request in self.requests if to_route(request) == route][-1]

    def body(self, route: str) -> Any:
        return json.loads(self.last(route).content)

    def connect(self, **options: Any) -> Guiche:
        http = httpx.Client(transport=httpx.MockTransport(self._answer))
        return Guiche(**{**_DEFAULTS, **options}, http_client=http)

    def async_connect(self, **options: Any) -> AsyncGuiche:
        http = httpx.AsyncClient(transport=httpx.MockTransport(self._answer))
        return AsyncGuiche(**{**_DEFAULTS, **options}, http_client=http)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        plan = self._plans.get(to_route(request))
        if not plan:
            raise AssertionError(f"No answer is planned for {to_route(request)}")
        answer = plan.pop(0) if len(plan) > 1 else plan[0]
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, httpx.Response):
            return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)
        # Or a coroutine, which httpx awaits.
        found: httpx.Response = answer(request)
        return found


_DEFAULTS: dict[str, Any] = {"base_url": "http://pix.test/", "client_id": "a-shop", "client_secret": SECRET}


def to_route(request: httpx.Request) -> str:
    return f"{request.method} {request.url.path}"


def granted(token: str, lifetime: float = 900) -> httpx.Response:
    # `expires_in` is a point in time in this API.
    return httpx.Response(
        200, json={"access_token": token, "token_type": "Bearer", "expires_in": 1795239619, "expires_in_sec": lifetime}
    )


def problem(status: int, code: str, headers: dict[str, str] | None = None, **members: Any) -> httpx.Response:
    body = {"code": code, "detail": "What happened.", "requestId": "a-request", **members}
    return httpx.Response(status, json=body, headers=headers)


def page(data: list[Any], next_cursor: str | None = None) -> httpx.Response:
    body = {"total": len(data), "totalPages": 1, "currentPage": 1, "perPage": 20, "data": data}
    return httpx.Response(200, json={**body, "nextCursor": next_cursor})


def quick_retries() -> Any:
    return patch("guiche._http._FIRST_PAUSE", 0.001)


async def async_together(calls: list[Callable[[], Awaitable[Any]]]) -> list[Any]:
    """The results of calls at the same time, or their errors."""
    results: list[Any] = await asyncio.gather(*(call() for call in calls), return_exceptions=True)
    return results


def together(calls: list[Callable[[], Any]]) -> list[Any]:
    def run(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))
