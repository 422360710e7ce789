"""Money, webhooks, helpers of tests: what is the same for sync and async programs."""

from __future__ import annotations

import json
import unittest
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, get_args

import httpx

from guiche import GuicheError, WebhookVerificationError, format_brl, to_cents, verify_webhook
from guiche._errors import to_error
from guiche._http import Call, to_list_call
from guiche.testing import WebhookReceiver, create_test_event, sign_webhook
from guiche.types import TransactionEventType, WithdrawalEventType

SECRET, NEXT, OTHER = (f"whsec_{text}" for text in ("Zmlyc3Q=", "bmV4dA==", "b3RoZXI="))
EVENT = create_test_event("transaction.paid", {"externalCode": "órder-2026-🌞"})


class MoneyTest(unittest.TestCase):
    def test_formats_cents_as_people_in_brazil_read_them(self) -> None:
        shown = {0: "R$ 0,00", 5: "R$ 0,05", 2590: "R$ 25,90", 123456789: "R$ 1.234.567,89", -150: "-R$ 1,50"}
        for cents, text in shown.items():
            self.assertEqual(format_brl(cents), text)
        for wrong in (25.9, True, 2**53, "1"):
            with self.assertRaises(ValueError):
                format_brl(wrong)  # type: ignore[arg-type]

    def test_converts_reais_to_cents_and_refuses_fractions_of_a_cent(self) -> None:
        self.assertEqual([cents for cents in range(200_000) if to_cents(cents / 100) != cents], [])
        amounts: list[Any] = [25.9, "25.90", Decimal("25.9")]
        for reais in amounts:
            self.assertEqual(to_cents(reais), 2590)
        fractions: list[Any] = [0.001, "19,99", "", float("nan"), float("inf"), 10**20]
        for wrong in fractions:
            with self.assertRaises(ValueError):
                to_cents(wrong)


class WebhookTest(unittest.TestCase):
    def test_returns_its_event_when_it_verifies(self) -> None:
        webhook = sign_webhook(SECRET, EVENT)
        upper = {name.upper(): [value] for name, value in webhook.headers.items()}
        forms: list[Any] = [webhook.headers, httpx.Headers(webhook.headers), upper]
        for headers in forms:
            self.assertEqual(verify_webhook(SECRET, headers, webhook.body), EVENT)
        event = verify_webhook(SECRET, webhook.headers, webhook.body.decode())
        if event["type"] == "transaction.paid":
            self.assertEqual(event["data"].get("amountPaid"), 2590)

    def test_verifies_the_example_of_the_standard(self) -> None:
        webhook = sign_webhook(
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            '{"test": 2432232314}',
            id="msg_p5jXN8AQM9LWM0D4loKWxJek",
            timestamp=datetime.fromtimestamp(1614265330, timezone.utc),
        )
        self.assertEqual(webhook.headers["webhook-signature"], "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")

    def test_verifies_with_either_secret_during_a_change_of_secrets(self) -> None:
        webhook = sign_webhook([SECRET, NEXT], EVENT)
        for known in (SECRET, NEXT, [SECRET, NEXT], [OTHER, NEXT]):
            self.assertEqual(verify_webhook(known, webhook.headers, webhook.body), EVENT)
        self.assertIn("No signature matches", self.refusal(OTHER, webhook.headers, webhook.body))

    def test_is_refused_when_any_part_of_it_was_changed(self) -> None:
        webhook = sign_webhook(SECRET, EVENT)
        later = str(int(webhook.headers["webhook-timestamp"]) + 1)
        changes = {
            "webhook-id": {"another": "No signature", "": "webhook-id is missing"},
            "webhook-timestamp": {later: "No signature", "now": "not a number", "": "webhook-timestamp is missing"},
            "webhook-signature": {
                **{text: "No signature" for text in ("v1,", "v1,####", "v1,é", "v1", " ")},
                f"v2,{webhook.headers['webhook-signature'][3:]}": "No signature",
                "": "webhook-signature is missing",
            },
        }
        for name, values in changes.items():
            for value, why in values.items():
                self.assertIn(why, self.refusal(SECRET, {**webhook.headers, name: value}, webhook.body))
        self.assertIn("serialized again", self.refusal(SECRET, webhook.headers, webhook.body.replace(b"2590", b"1")))

    def test_is_refused_when_it_is_too_old_or_in_the_future(self) -> None:
        now = datetime.now(timezone.utc)
        webhook = sign_webhook(SECRET, EVENT, timestamp=now)
        for seconds in (298, -298):
            verify_webhook(SECRET, webhook.headers, webhook.body, now=now + timedelta(seconds=seconds))
        for seconds in (302, -302):
            then = now + timedelta(seconds=seconds)
            self.assertIn("300 seconds", self.refusal(SECRET, webhook.headers, webhook.body, now=then))
            verify_webhook(SECRET, webhook.headers, webhook.body, now=then, tolerance=1000)
        nan = float("nan")
        self.assertIn("from now", self.refusal(SECRET, webhook.headers, webhook.body, now=now, tolerance=nan))

    def test_is_refused_when_it_is_signed_but_is_not_an_event(self) -> None:
        for text in ("", "null", "[1]", "no JSON", '{"type":1}', '{"type":"x","data":null}'):
            webhook = sign_webhook(SECRET, text)
            self.assertIn("is not an event", self.refusal(SECRET, webhook.headers, webhook.body))

    def test_shows_no_secret_when_the_configuration_is_wrong(self) -> None:
        webhook = sign_webhook(SECRET, EVENT)
        wrong: list[Any] = ["", "not-a-webhook-secret", "whsec_", "whsec_###", None]
        for secret in wrong:
            with self.assertRaises(TypeError) as caught:
                verify_webhook([secret], webhook.headers, webhook.body)
            self.assertNotIn(secret or "no secret", str(caught.exception).replace('"whsec_"', ""))
        with self.assertRaisesRegex(TypeError, "needs a secret"):
            verify_webhook([], webhook.headers, webhook.body)
        with self.assertRaisesRegex(TypeError, "raw body"):
            verify_webhook(SECRET, webhook.headers, json.loads(webhook.body))

    def refusal(self, secret: str, headers: dict[str, str], body: bytes, **options: Any) -> str:
        with self.assertRaises(WebhookVerificationError) as caught:
            verify_webhook(secret, headers, body, **options)
        return caught.exception.detail


class TestingTest(unittest.TestCase):
    def test_makes_an_event_of_each_type(self) -> None:
        for type in (*get_args(TransactionEventType), *get_args(WithdrawalEventType)):
            event: Any = create_test_event(type, {"amount": 4200})
            data = event["data"]
            self.assertEqual((event["type"], data["amount"]), (type, 4200))
            self.assertEqual(data["status"], type.split(".")[1].upper())
            self.assertEqual(data["statusHistory"][-1]["status"], data["status"])
            self.assertEqual(data["sequence"], len(data["statusHistory"]) - 1)
            went_back = data.get("amountRefunded", 0) + data.get("amountReturned", 0)
            self.assertEqual(went_back, 4200 if type in ("transaction.refunded", "transaction.infraction") else 0)
            self.assertEqual(sum(one["amount"] for one in data.get("returns", [])), data.get("amountReturned", 0))
            refunds = [(one["amount"], one["status"]) for one in data.get("refunds", [])]
            status = {"transaction.refunded": "REFUNDED", "transaction.processing_refund": "PROCESSING"}.get(type)
            self.assertEqual(refunds, [(4200, status)] if status else [])
            disputes = [(one["amount"], one["status"]) for one in data.get("disputes", [])]
            status = {
                "transaction.blocked": "OPEN",
                "transaction.processing_infraction": "ACCEPTED",
                "transaction.infraction": "RETURNED",
            }.get(type)
            self.assertEqual(disputes, [(4200, status)] if status else [])
            disputed = {one["id"] for one in data.get("disputes", [])}
            self.assertTrue({one["disputeId"] for one in data.get("returns", [])} <= disputed)
            self.assertEqual(data.get("failureCode"), "expired" if type == "transaction.failed" else None)

    def test_makes_histories_as_the_service_has_them(self) -> None:
        types: tuple[TransactionEventType, ...] = ("transaction.refunded", "transaction.processing_infraction")
        before = [[one["status"] for one in create_test_event(type)["data"]["statusHistory"]][-2] for type in types]
        self.assertEqual(before, ["PROCESSING_REFUND", "BLOCKED"])

    def test_receives_webhooks_that_verify_and_refuses_others(self) -> None:
        with WebhookReceiver(SECRET) as receiver:

            def send(secret: str, type: Any) -> int:
                webhook = sign_webhook(secret, create_test_event(type))
                return httpx.post(receiver.url, content=webhook.body, headers=webhook.headers, trust_env=False).status_code

            self.assertEqual(send(OTHER, "transaction.paid"), 401)
            self.assertEqual(send(SECRET, "withdrawal.processed"), 204)
            self.assertEqual(receiver.wait_for("withdrawal.processed"), receiver.events[0])
            message = "within 0.01 s. Received: withdrawal.processed. Refused: No signature"
            with self.assertRaisesRegex(TimeoutError, message):
                receiver.wait_for("transaction.paid", timeout=0.01)


class CallTest(unittest.TestCase):
    def test_sends_dates_with_their_time_zone_only(self) -> None:
        at = datetime(2026, 11, 21, 9, 0, tzinfo=timezone(timedelta(hours=-3)))
        self.assertIn("startDate=2026-11-21T09%3A00%3A00-03%3A00", to_list_call("/transaction", {"startDate": at}).url(""))
        with self.assertRaisesRegex(ValueError, "time zone"):
            to_list_call("/transaction", {"startDate": at.replace(tzinfo=None)}).url("")
        with self.assertRaisesRegex(TypeError, "float cannot be sent"):
            to_list_call("/transaction", {"minAmount": 1.5}).url("")
        with self.assertRaisesRegex(TypeError, "Decimal cannot be sent"):
            Call("POST", "/transaction", body={"amount": Decimal(1)}).content()

    def test_reads_when_to_try_again(self) -> None:
        def read(header: str) -> float | None:
            return to_error(429, {"retry-after": header}, b"", None).retry_after

        self.assertEqual([read("7"), read("soon"), read("Mon, 01 Jan 2024 00:00:00 GMT"), read("")], [7, None, 0, None])
        self.assertIsInstance(to_error(502, {}, b"[]", None), GuicheError)
