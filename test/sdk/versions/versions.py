"""Prints what the Python SDK makes of the answers of a service of another version, for versions.test.ts."""

import asyncio
import inspect
import json
import sys

from guiche import AsyncGuiche, Guiche, GuicheError, verify_webhook

kind, base_url, secret, signed = sys.argv[1:]
webhook = json.loads(signed)


async def main():
    client = {"sync": Guiche, "async": AsyncGuiche}[kind]
    guiche = client(base_url=base_url, client_id="a-shop", client_secret="a-secret", max_retries=0)

    async def get(answer):
        return await answer if inspect.isawaitable(answer) else answer

    transaction = await get(guiche.transactions.get("an-id"))
    page = await get(guiche.transactions.list().page())
    feed = await get(guiche.events.read({"after": "start"}))
    event = verify_webhook(secret, webhook["headers"], webhook["body"])
    try:
        await get(guiche.transactions.refund("an-id"))
        refusal = None
    except GuicheError as error:
        refusal = [error.code, error.status, [[one["field"], one.get("code")] for one in error.errors]]
    created = await get(guiche.transactions.create({"amount": 2590}))
    withdrawn = await get(guiche.withdrawals.create({"amount": 100}))
    waited = await get(guiche.transactions.wait_for("an-id", "SETTLED", timeout=5))
    await get(guiche.close())
    facts = {
        "fetched": [
            transaction["status"],
            transaction["amount"],
            transaction.get("updatedAt"),
            transaction.get("amountPaid"),
            [one["status"] for one in transaction.get("disputes", [])],
            transaction.get("priority"),
        ],
        "created": [created["id"], withdrawn.get("hold")],
        "listed": [one["status"] for one in page.data],
        "fed": [[one["type"], one["data"]["id"], one["position"]] for one in feed["data"]],
        "verified": [event["type"], event["data"]["id"]],
        "waited": waited["status"],
        "refused": refusal,
    }
    json.dump(facts, sys.stdout)


asyncio.run(main())
