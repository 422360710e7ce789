"""A shop's whole day in the sandbox. A test runs it against a running service."""

import asyncio
import json
from pathlib import Path

from guiche import AsyncGuiche, NotFoundError, format_brl
from guiche.testing import WebhookReceiver


async def main() -> None:
    sandbox = json.loads(Path("data/sandbox.json").read_text())
    async with AsyncGuiche(
        base_url=sandbox["baseUrl"], client_id=sandbox["clientId"], client_secret=sandbox["clientSecret"]
    ) as guiche:
        with WebhookReceiver(sandbox["webhookSecret"]) as receiver:
            created = await guiche.transactions.create({"amount": 2590, "webhookUrl": receiver.url})
            await guiche.sandbox.pay({"uri": created["pixResponse"]["uri"]})
            fits = lambda event: event["data"]["id"] == created["id"]
            event = await asyncio.to_thread(receiver.wait_for, "transaction.paid", fits)
            assert event["type"] == "transaction.paid"
            print(event["data"]["status"], format_brl(event["data"].get("amountPaid", 0)))

        refund = await guiche.transactions.refund(created["id"], {"amount": 590, "reason": "One was broken"})
        refunded = await guiche.transactions.wait_for(
            created["id"], lambda found: found.get("amountRefunded") == 590, timeout=60
        )
        [found] = [one for one in refunded.get("refunds", []) if one["id"] == refund["id"]]
        print(found["status"], found["amount"])

        withdrawal = await guiche.withdrawals.create(
            {"amount": 1000, "pixKey": {"key": "+5511987654321", "type": "PHONE"}}
        )
        # The sync shop and the async one run in the same sandbox, and withdraw the same amount to the same key.
        if withdrawal.get("hold") == "duplicate":
            await guiche.withdrawals.confirm(withdrawal["id"])
        while (await guiche.withdrawals.get(withdrawal["id"]))["status"] in ("PENDING", "PROCESSING"):
            await asyncio.sleep(0.1)
        sent = await guiche.withdrawals.get(withdrawal["id"])
        print(sent["status"], format_brl(sent.get("amountWithdrawn", 0)))

        endpoint = await guiche.webhook_endpoints.create({"url": "http://127.0.0.1:9/pix"})
        assert endpoint["secret"].startswith("whsec_")
        assert [one["id"] async for one in guiche.webhook_endpoints.list()] == [endpoint["id"]]
        assert (await guiche.deliveries.resend(event["id"]))["eventId"] == event["id"]
        try:
            await guiche.deliveries.resend(event["id"], endpoint_id=endpoint["id"])
            raise AssertionError("It was sent to an endpoint that did not have it.")
        except NotFoundError:
            pass
        await guiche.webhook_endpoints.delete(endpoint["id"])

        followed: list[str] = []
        async for change in guiche.events.follow({"recordId": created["id"]}):
            followed.append(change["type"])
            if len(followed) == 4:
                break
        assert followed == [
            "transaction.pix_qrcode_generated",
            "transaction.paid",
            "transaction.processing_refund",
            "transaction.paid",
        ], followed
        assert (await guiche.events.get(event["id"]))["type"] == "transaction.paid"

        listed = [entry["kind"] async for entry in guiche.statement.list()]
        exported = b"".join([piece async for piece in guiche.statement.export()]).decode()
        assert {"payment", "refund_reserved", "withdrawal_reserved"} <= set(listed), listed
        assert exported.count("\r\n") == len(listed) + 1, exported
        balance = await guiche.balance.get()
        assert balance["reserved"] == 0, balance


asyncio.run(main())
