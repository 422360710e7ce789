from __future__ import annotations

import asyncio
import time
from typing import Any
from unittest import IsolatedAsyncioTestCase
from unittest.mock import patch

import httpx

from guiche import (
    AcquirerUnavailableError,
    AuthenticationError,
    ConnectionError,
    GuicheError,
    IdempotencyKeyReusedError,
    InsufficientBalanceError,
    NotFoundError,
    PermissionError,
    RateLimitedError,
    ServerError,
    ValidationError,
)

from ..support import SECRET, Service, async_together, granted, page, problem, quick_retries

CREATE = "POST /transaction"
PAY = "POST /sandbox/payment"
TOKEN = "POST /auth/token"
CREATED = httpx.Response(201, json={"id": "an-id", "status": "PIX_QRCODE_GENERATED"})
LOST = httpx.ReadError("lost")
CSV = {"content-type": "text/csv; charset=utf-8"}


class ClientTest(IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.service = Service()
        self.guiche = self.service.async_connect()
        quick = quick_retries()
        quick.start()
        self.addCleanup(quick.stop)

    async def test_fills_in_what_every_charge_has(self) -> None:
        self.service.plan(CREATE, CREATED)
        self.assertEqual((await self.guiche.transactions.create({"amount": 2590}))["id"], "an-id")
        body = self.service.body(CREATE)
        self.assertRegex(body.pop("idempotencyKey"), "^[0-9a-f]{32}$")
        self.assertEqual(body, {"amount": 2590, "paymentMethod": "PIX", "pix": {}})
        headers = self.service.last(CREATE).headers
        self.assertEqual(headers["authorization"], "Bearer token-1")
        self.assertRegex(headers["user-agent"], r"^guiche-python/\d")
        self.assertEqual(headers["content-type"], "application/json")

    async def test_repeats_a_charge_with_the_same_key_until_an_answer_arrives(self) -> None:
        self.service.plan(CREATE, LOST, httpx.Response(503, text="<h1>"), problem(500, "internal_error"), LOST, CREATED)
        await self.guiche.transactions.create({"amount": 2590})
        keys = {request.content for request in self.service.requests if request.url.path == "/transaction"}
        self.assertEqual((self.service.count(CREATE), len(keys)), (5, 1))

    async def test_names_the_key_to_repeat_with_when_the_outcome_is_unknown(self) -> None:
        self.service.plan(CREATE, LOST)
        error = await self.failure(ConnectionError, lambda: self.guiche.transactions.create({"amount": 1}, max_retries=1))
        self.assertEqual((error.code, self.service.count(CREATE)), ("connection_failed", 2))
        self.assertEqual(error.idempotency_key, self.service.body(CREATE)["idempotencyKey"])
        self.assertIsInstance(error.__cause__, httpx.ReadError)
        own: Any = {"amount": 1, "idempotencyKey": "order-1-try-1"}
        self.service.plan(CREATE, problem(500, "acquirer_unavailable", transactionId="kept"))
        unknown = await self.failure(AcquirerUnavailableError, lambda: self.guiche.transactions.create(own))
        self.assertEqual((unknown.idempotency_key, unknown.transaction_id), ("order-1-try-1", "kept"))

    async def test_repeats_nothing_that_could_happen_twice(self) -> None:
        for answer in (LOST, problem(503, "database_unavailable"), httpx.ReadTimeout("late")):
            self.service.plan(PAY, answer)
            before = self.service.count(PAY)
            await self.failure(GuicheError, lambda: self.guiche.sandbox.pay({"uri": "a-code"}))
            self.assertEqual(self.service.count(PAY), before + 1)
        self.service.plan(PAY, problem(429, "rate_limited", {"retry-after": "0"}), httpx.Response(200, json={}))
        await self.guiche.sandbox.pay({"uri": "a-code"})

    async def test_waits_no_longer_than_a_minute_and_for_no_freeze(self) -> None:
        self.service.plan(CREATE, problem(429, "rate_limited", {"retry-after": "61"}))
        error = await self.failure(RateLimitedError, lambda: self.guiche.transactions.create({"amount": 1}))
        self.assertEqual((error.retry_after, self.service.count(CREATE)), (61, 1))
        self.service.plan("POST /withdrawal", problem(503, "payouts_stopped"))
        payout: Any = {"amount": 1, "pixKey": {"key": "a@example.com", "type": "EMAIL"}}
        await self.failure(ServerError, lambda: self.guiche.withdrawals.create(payout))
        self.assertEqual(self.service.count("POST /withdrawal"), 1)

    async def test_fetches_one_token_for_calls_at_the_same_time(self) -> None:
        async def grant(request: httpx.Request) -> httpx.Response:
            await asyncio.sleep(0.05)
            return granted("token")

        self.service.plan(TOKEN, grant)
        self.service.plan("GET /balance", httpx.Response(200, json={"available": 1}))
        await async_together([self.guiche.balance.get for _ in range(20)])
        self.assertEqual((self.service.count(TOKEN), self.service.count("GET /balance")), (1, 20))

    async def test_gives_the_error_of_a_token_to_all_that_wait_for_it_each_with_its_key(self) -> None:
        async def refuse(request: httpx.Request) -> httpx.Response:
            await asyncio.sleep(0.05)
            return httpx.Response(401, json={"error": "invalid_client", "error_description": "Wrong."})

        self.service.plan(TOKEN, refuse)
        errors = await async_together([lambda: self.guiche.transactions.create({"amount": 1}) for _ in range(5)])
        self.assertEqual({type(error) for error in errors}, {AuthenticationError})
        self.assertEqual(len({error.idempotency_key for error in errors}), 5)
        self.assertLess(self.service.count(TOKEN), 5)
        for error in errors:
            self.assertNotIn(SECRET, f"{error!r} {error.__cause__!r}")

    async def test_requests_a_token_within_the_limits_of_the_call(self) -> None:
        self.service.plan(TOKEN, httpx.Response(503))
        await self.failure(ServerError, lambda: self.guiche.balance.get(timeout=1.5, max_retries=0))
        self.assertEqual(self.service.count(TOKEN), 1)
        self.assertEqual(self.service.last(TOKEN).extensions["timeout"]["read"], 1.5)

    async def test_renews_a_token_before_it_expires(self) -> None:
        self.service.plan("GET /balance", httpx.Response(200, json={}))
        self.service.plan(TOKEN, granted("short", 0.05), granted("next"))
        await self.guiche.balance.get()
        time.sleep(0.05)
        await self.guiche.balance.get()
        self.assertEqual(self.service.last("GET /balance").headers["authorization"], "Bearer next")

    async def test_repeats_any_call_once_with_a_new_token_when_the_first_is_refused(self) -> None:
        self.service.plan(PAY, problem(401, "token_revoked"), httpx.Response(200, json={}))
        await self.guiche.sandbox.pay({"uri": "a-code"})
        self.assertEqual(self.service.last(PAY).headers["authorization"], "Bearer token-2")
        self.service.plan(PAY, problem(401, "token_revoked"))
        before = self.service.count(PAY)
        await self.failure(AuthenticationError, lambda: self.guiche.sandbox.pay({"uri": "a-code"}))
        self.assertEqual(self.service.count(PAY), before + 2)

    async def test_takes_a_token_from_elsewhere(self) -> None:
        self.service.plan("GET /balance", httpx.Response(200, json={}))
        for access_token, sent in ((lambda: "own", "Bearer own"), (lambda: None, None)):
            guiche = self.service.async_connect(client_id=None, client_secret=None, access_token=access_token)
            await guiche.balance.get()
            self.assertEqual(self.service.last("GET /balance").headers.get("authorization"), sent)
        self.assertEqual(self.service.count(TOKEN), 0)
        wrong = self.service.async_connect(client_id=None, client_secret=None, access_token=lambda: "Bearer own")
        with self.assertRaisesRegex(TypeError, 'without "Bearer"'):
            await wrong.balance.get()

    async def test_raises_an_error_of_each_kind(self) -> None:
        kinds: dict[str, tuple[int, type[GuicheError]]] = {
            "idempotency_key_reused": (422, IdempotencyKeyReusedError),
            "insufficient_balance": (422, InsufficientBalanceError),
            "insufficient_scope": (403, PermissionError),
            "not_found": (404, NotFoundError),
            "refund_not_possible": (422, GuicheError),
        }
        for code, (status, kind) in kinds.items():
            self.service.plan("GET /transaction/an-id", problem(status, code))
            error = await self.failure(kind, lambda: self.guiche.transactions.get("an-id"))
            self.assertEqual((type(error), error.code, error.status), (kind, code, status))
            self.assertEqual(str(error), f"What happened. [{code}, HTTP {status}, request a-request]")
        fields = [{"field": f"items[{index}]", "code": "missing", "message": "is missing"} for index in range(7)]
        self.service.plan(CREATE, problem(422, "validation_failed", errors=fields))
        invalid = await self.failure(ValidationError, lambda: self.guiche.transactions.create({"amount": 0}))
        self.assertEqual(len(invalid.errors), 7)
        self.assertIn('items[4] is missing. And 2 more in "errors".', str(invalid))
        self.service.plan(CREATE, problem(422, "idempotency_key_reused", errors=fields))
        reused = await self.failure(IdempotencyKeyReusedError, lambda: self.guiche.transactions.create({"amount": 0}))
        self.assertTrue(str(reused).startswith("What happened. ["))

    async def test_recognizes_an_answer_that_is_not_from_the_service(self) -> None:
        for answer in (httpx.Response(200, text="<h1>"), httpx.Response(200, text="[]"), httpx.Response(404, text="<h1>")):
            self.service.plan("GET /balance", answer)
            error = await self.failure(GuicheError, lambda: self.guiche.balance.get())
            self.assertEqual(error.code, "unexpected_answer")
        # Only a deletion is answered without a body, and only an export with CSV.
        self.service.plan("GET /balance", httpx.Response(204))
        await self.failure(GuicheError, lambda: self.guiche.balance.get())
        self.service.plan("DELETE /webhook-endpoint/an-id", httpx.Response(200, json={"status": "maintenance"}))
        await self.failure(GuicheError, lambda: self.guiche.webhook_endpoints.delete("an-id"))
        self.service.plan("GET /statement.csv", httpx.Response(200, html="<h1>"))
        with self.assertRaisesRegex(GuicheError, "unexpected_answer"):
            [piece async for piece in self.guiche.statement.export()]
        self.service.plan("GET /transaction", httpx.Response(200, json={"data": []}))
        error = await self.failure(GuicheError, lambda: self.guiche.transactions.list().page())
        self.assertEqual(error.code, "unexpected_answer")
        self.service.plan("GET /balance", httpx.Response(302, headers={"location": "http://elsewhere.test/"}))
        error = await self.failure(GuicheError, lambda: self.guiche.balance.get())
        self.assertIn("redirect", error.detail)
        self.assertEqual({request.url.host for request in self.service.requests}, {"pix.test"})

    async def test_ends_a_try_that_takes_too_long(self) -> None:
        self.service.plan("GET /balance", httpx.ReadTimeout("late"))
        error = await self.failure(ConnectionError, lambda: self.guiche.balance.get(timeout=3, max_retries=0))
        self.assertEqual((error.code, error.detail[:18]), ("timeout", "No answer within 3"))

        def drip(request: httpx.Request) -> httpx.Response:
            time.sleep(0.02)
            return httpx.Response(200, json={})

        self.service.plan("GET /balance", drip)
        error = await self.failure(ConnectionError, lambda: self.guiche.balance.get(timeout=0.01, max_retries=0))
        self.assertEqual(error.code, "timeout")

    async def test_reads_a_list_item_by_item_page_by_page_and_at_once(self) -> None:
        route = "GET /transaction"
        first, second = page([{"id": "1"}, {"id": "2"}], "next"), page([{"id": "3"}])
        self.service.plan(route, first, second)
        found = [transaction["id"] async for transaction in self.guiche.transactions.list({"status": ["PAID", "FAILED"]})]
        self.assertEqual(found, ["1", "2", "3"])
        self.assertEqual(str(self.service.last(route).url.query, "ascii"), "status=PAID&status=FAILED&perPage=100&cursor=next")
        self.service.plan(route, first, second)
        self.assertEqual(len(await self.guiche.transactions.list().all(limit=2)), 2)
        self.assertEqual(len(await self.guiche.transactions.list().all(limit=0)), 0)
        with self.assertRaisesRegex(ValueError, "limit must be"):
            await self.guiche.transactions.list().all(limit=-1)
        self.service.plan(route, first)
        self.assertEqual((await self.guiche.transactions.list({"perPage": 2}).page()).next_cursor, "next")
        self.service.plan(route, page([{"id": "1"}] * 10_001))
        with self.assertRaisesRegex(ValueError, "more than 10000"):
            await self.guiche.transactions.list().all()

    async def test_keeps_what_identifies_a_person_out_of_addresses(self) -> None:
        self.service.plan("POST /transaction/search", page([]))
        await self.guiche.transactions.list({"customerEmail": "maria@example.com", "perPage": 5}).page()
        self.assertEqual(self.service.body("POST /transaction/search"), {"customerEmail": "maria@example.com", "perPage": 5})
        with self.assertRaisesRegex(ValueError, "status is an empty list"):
            await self.guiche.transactions.list({"status": []}).page()

    async def test_exports_csv_in_pieces(self) -> None:
        self.service.plan("GET /statement.csv", httpx.Response(200, headers=CSV, text="id,kind\n1,payment\n"))
        pieces = [piece async for piece in self.guiche.statement.export({"startDate": "2026-01-01T00:00:00Z"})]
        self.assertEqual(b"".join(pieces), b"id,kind\n1,payment\n")
        self.assertEqual(self.service.last("GET /statement.csv").headers["accept"], "text/csv")
        self.service.plan("GET /statement.csv", problem(403, "insufficient_scope"))
        with self.assertRaises(PermissionError):
            [piece async for piece in self.guiche.statement.export()]

        async def stall() -> Any:
            yield b"id,kind\n"
            raise httpx.ReadTimeout("late")

        self.service.plan("GET /statement.csv", lambda request: httpx.Response(200, headers=CSV, content=stall()))
        with self.assertRaises(ConnectionError) as caught:
            [piece async for piece in self.guiche.statement.export(timeout=3)]
        self.assertEqual((caught.exception.code, caught.exception.detail[:18]), ("timeout", "No answer within 3"))

    async def test_follows_events_past_interruptions_and_from_position_to_position(self) -> None:
        def events(*numbers: int) -> httpx.Response:
            data = [{"number": number, "position": f"{number}-a"} for number in numbers]
            body = {"data": data, "next": f"{numbers[-1]}-a", "hasMore": False}
            return httpx.Response(200, json=body)

        self.service.plan("GET /event", events(1, 2), LOST, LOST, LOST, LOST, LOST, events(3))
        errors: list[GuicheError] = []
        numbers: list[int] = []
        with patch("guiche._async._records._FIRST_PAUSE", 0.001):
            async for event in self.guiche.events.follow({"after": "end"}, on_interruption=errors.append):
                numbers.append(event["number"])
                if len(numbers) == 3:
                    break
        self.assertEqual((numbers, [error.code for error in errors]), ([1, 2, 3], ["connection_failed"]))
        self.assertEqual(str(self.service.last("GET /event").url.query, "ascii"), "after=2-a&wait=20")
        for timeout, wait in ((10.0, 6), (60.0, 20), (1.0, 0)):
            self.service.plan("GET /event", events(3))
            async for event in self.guiche.events.follow({"after": "end"}, timeout=timeout):
                break
            request = self.service.last("GET /event")
            self.assertEqual((request.url.params["wait"], request.extensions["timeout"]["read"]), (str(wait), timeout))
        self.service.plan("GET /event", problem(429, "rate_limited", {"retry-after": "90"}), events(4))
        with patch("guiche._async._records.asyncio.sleep") as slept:
            async for event in self.guiche.events.follow():
                break
        self.assertEqual([call.args for call in slept.call_args_list], [(90,)])
        self.service.plan("GET /event", httpx.Response(408), events(5))
        with patch("guiche._async._records.asyncio.sleep"):
            async for event in self.guiche.events.follow(max_retries=0):
                break
        self.assertEqual(event["number"], 5)
        self.service.plan("GET /event", problem(422, "position_unknown"))
        with self.assertRaises(GuicheError):
            [event async for event in self.guiche.events.follow()]
        for body in ({"next": "4-a", "hasMore": False}, {"data": [], "hasMore": False}):
            self.service.plan("GET /event", httpx.Response(200, json=body))
            with self.assertRaisesRegex(GuicheError, "not from Guichê.*unexpected_answer"):
                [event async for event in self.guiche.events.follow()]

    async def test_changes_a_webhook_endpoint_and_repeats_what_has_one_effect(self) -> None:
        one = "/webhook-endpoint/an-id"
        self.service.plan(f"PATCH {one}", LOST, httpx.Response(200, json={"id": "an-id"}))
        self.assertEqual((await self.guiche.webhook_endpoints.update("an-id", {"description": "Shop"}))["id"], "an-id")
        self.service.plan(f"DELETE {one}", httpx.Response(204))
        await self.guiche.webhook_endpoints.delete("an-id")
        self.assertEqual((self.service.count(f"PATCH {one}"), self.service.count(f"DELETE {one}")), (2, 1))
        self.service.plan(f"POST {one}/secret", LOST)
        await self.failure(ConnectionError, lambda: self.guiche.webhook_endpoints.rotate_secret("an-id"))
        self.assertEqual(self.service.count(f"POST {one}/secret"), 1)
        self.service.plan(f"POST {one}/secret", LOST, httpx.Response(201, json={"secret": "whsec_new"}))
        secret_id = "6f1c2d3e-4a5b-4c6d-8e7f-102132435465"
        await self.guiche.webhook_endpoints.rotate_secret("an-id", secret_id=secret_id)
        self.assertEqual(self.service.body(f"POST {one}/secret"), {"secretId": secret_id})

    async def test_waits_for_a_status_or_a_condition(self) -> None:
        states = [httpx.Response(200, json={"id": "an-id", "status": status}) for status in ("PENDING", "PAID")]
        self.service.plan("GET /transaction/an-id", *states)
        self.assertEqual((await self.guiche.transactions.wait_for("an-id", "PAID"))["status"], "PAID")
        await self.guiche.transactions.wait_for("an-id", lambda transaction: transaction["status"] == "PAID")
        with self.assertRaisesRegex(GuicheError, "an-id is PAID, not REFUNDED, after 1 s. .*wait_timed_out"):
            await self.guiche.transactions.wait_for("an-id", "REFUNDED", timeout=1.0)
        # The last poll has time for an answer.
        limits = [request.extensions["timeout"]["read"] for request in self.service.requests[-3:]]
        self.assertGreater(min(limits), 0.002)
        self.service.plan("GET /transaction/an-id", problem(503, "busy", {"retry-after": "30"}))
        with self.assertRaisesRegex(GuicheError, "an-id is of unknown status, .*wait_timed_out"):
            await self.guiche.transactions.wait_for("an-id", "PAID", timeout=0.2)
        self.service.plan("GET /transaction/an-id", problem(404, "not_found"))
        with self.assertRaises(NotFoundError):
            await self.guiche.transactions.wait_for("an-id", "PAID")

    async def test_refuses_wrong_arguments_before_it_sends_anything(self) -> None:
        for wrong in ("", "pix.test", "https://user:word@pix.test", "https://pix.test?a=b", "https://pix.test/?", None):
            with self.assertRaisesRegex(ValueError, "base_url must be"):
                self.service.async_connect(base_url=wrong)
        with self.assertRaisesRegex(TypeError, "environment variable"):
            self.service.async_connect(client_secret="")
        for wrong in ("", "../balance", "a/b", "é", None):
            with self.assertRaisesRegex(TypeError, "id of a record"):
                await self.guiche.transactions.get(wrong)  # type: ignore[arg-type]
        self.assertEqual(self.service.requests, [])

    async def failure(self, kind: type[GuicheError], call: Any) -> GuicheError:
        with self.assertRaises(kind) as caught:
            await call()
        return caught.exception
