# Written by `npm run sdk:types` from ../_async/shop.py. Edit that, not this file.

"""A shop's whole day in the sandbox. A test runs it against a running service."""

import time
import json
from pathlib import Path

from guiche import Guiche, NotFoundError, format_brl
from guiche.testing import WebhookReceiver


def main() -> None:
    sandbox = json.loads(Path("data/sandbox.json").read_text())
    with Guiche(
        base_url=sandbox["baseUrl"], client_id=sandbox["clientId"], client_secret=sandbox["clientSecret"]
    ) as guiche:
        with WebhookReceiver(sandbox["webhookSecret"]) as receiver:
            created = guiche.transactions.create({"amount": 2590, "webhookUrl": receiver.url})
            guiche.sandbox.pay({"uri": created["pixResponse"]["uri"]})
            fits = lambda event: event["data"]["id"] == created["id"]
            event = receiver.wait_for("transaction.paid", fits)
            assert event["type"] == "transaction.paid"
            print(event["data"]["status"], format_brl(event["data"].get("amountPaid", 0)))

        refund = guiche.transactions.refund(created["id"], {"amount": 590, "reason": "One was broken"})
        refunded = guiche.transactions.wait_for(
            created["id"], lambda found: found.get("amountRefunded") == 590, timeout=60
        )
        [found] = [one for one in refunded.get("refunds", []) if one["id"] == refund["id"]]
        print(found["status"], found["amount"])

        withdrawal = guiche.withdrawals.create(
            {"amount": 1000, "pixKey": {"key": "+5511987654321", "type": "PHONE"}}
        )
        # The sync shop and the async one run in the same sandbox, and withdraw the same amount to the same key.
        if withdrawal.get("hold") == "duplicate":
            guiche.withdrawals.confirm(withdrawal["id"])
        while (guiche.withdrawals.get(withdrawal["id"]))["status"] in ("PENDING", "PROCESSING"):
            time.sleep(0.1)
        sent = guiche.withdrawals.get(withdrawal["id"])
        print(sent["status"], format_brl(sent.get("amountWithdrawn", 0)))

        endpoint = guiche.webhook_endpoints.create({"url": "http://127.0.0.1:9/pix"})
        assert endpoint["secret"].startswith("whsec_")
        assert [one["id"] for one in guiche.webhook_endpoints.list()] == [endpoint["id"]]
        assert (guiche.deliveries.resend(event["id"]))["eventId"] == event["id"]
        try:
            guiche.deliveries.resend(event["id"], endpoint_id=endpoint["id"])
            raise AssertionError("It was sent to an endpoint that did not have it.")
        except NotFoundError:
            pass
        guiche.webhook_endpoints.delete(endpoint["id"])

        followed: list[str] = []
        for change in guiche.events.follow({"recordId": created["id"]}):
            followed.append(change["type"])
            if len(followed) == 4:
                break
        assert followed == [
            "transaction.pix_qrcode_generated",
            "transaction.paid",
            "transaction.processing_refund",
            "transaction.paid",
        ], followed
        assert (guiche.events.get(event["id"]))["type"] == "transaction.paid"

        listed = [entry["kind"] for entry in guiche.statement.list()]
        exported = b"".join([piece for piece in guiche.statement.export()]).decode()
        assert {"payment", "refund_reserved", "withdrawal_reserved"} <= set(listed), listed
        assert exported.count("\r\n") == len(listed) + 1, exported
        balance = guiche.balance.get()
        assert balance["reserved"] == 0, balance


main()
