from __future__ import annotations

import json
import os
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import FileResponse

from guiche import AsyncGuiche, GuicheError, WebhookVerificationError, verify_webhook

PRICE = 2590
PORT = os.environ.get("PORT", "8000")
SHOP_URL = os.environ.get("SHOP_URL", f"http://127.0.0.1:{PORT}")
FOLDER = Path(__file__).parent

# From the environment, or else from the file that Guichê writes for its sandbox.
sandbox: dict[str, str] = {}
with suppress(FileNotFoundError):
    sandbox = json.loads(Path(os.environ.get("GUICHE_SANDBOX", FOLDER / "../../data/sandbox.json")).read_text())
WEBHOOK_SECRET = os.environ.get("GUICHE_WEBHOOK_SECRET", sandbox.get("webhookSecret", ""))
guiche = AsyncGuiche(
    base_url=os.environ.get("GUICHE_URL", sandbox.get("baseUrl", "")),
    client_id=os.environ.get("GUICHE_CLIENT_ID", sandbox.get("clientId", "")),
    client_secret=os.environ.get("GUICHE_CLIENT_SECRET", sandbox.get("clientSecret", "")),
)


@dataclass
class Order:
    id: str
    status: str = "PENDING"
    code: str = ""
    qrCode: str = ""
    paymentUrl: str = ""
    sequence: int = 0


# A real shop keeps its orders in its database.
orders: dict[str, Order] = {}
app = FastAPI()


@app.get("/")
async def show_product() -> FileResponse:
    return FileResponse(FOLDER / "index.html")


@app.post("/orders", status_code=201)
async def create_order() -> Order:
    order = Order(id=str(uuid.uuid4()))
    # Stored first, so that no webhook arrives before its order exists.
    orders[order.id] = order
    try:
        created = await guiche.transactions.create(
            {
                "amount": PRICE,
                # Repeated with the same key, it is still one charge.
                "idempotencyKey": order.id,
                "externalCode": order.id,
                "webhookUrl": f"{SHOP_URL}/webhooks/pix",
                # Where the payment page leads back to. The visit proves nothing: the webhook does.
                "returnUrl": f"{SHOP_URL}/?order={order.id}",
            }
        )
    except GuicheError as error:
        raise HTTPException(502, "The charge could not be created.") from error
    order.code = created["pixResponse"]["uri"]
    order.qrCode = created["pixResponse"]["qrCodeBase64"]
    order.paymentUrl = created["paymentUrl"]
    return order


@app.get("/orders/{id}")
async def get_order(id: str) -> Order:
    if id not in orders:
        raise HTTPException(404)
    return orders[id]


@app.post("/webhooks/pix", status_code=204)
async def receive_webhook(request: Request) -> Response:
    try:
        # The raw body: a body that was parsed and serialized again has another signature.
        event = verify_webhook(WEBHOOK_SECRET, request.headers, await request.body())
    except WebhookVerificationError as error:
        return Response(error.detail, status_code=401)
    order = orders.get(event["data"].get("externalCode", ""))
    # The same event can arrive twice, and a late one is stale.
    if order is not None and event["data"]["sequence"] > order.sequence:
        order.sequence = event["data"]["sequence"]
        if event["type"] == "transaction.paid" and event["data"].get("amountPaid", 0) >= PRICE:
            mark_paid(order)
        elif event["type"] in ("transaction.refunded", "transaction.infraction"):
            order.status = "REFUNDED"
        elif event["type"] == "transaction.failed":
            order.status = "FAILED"
    # Also for types that the shop does not know: after an error, Guichê would send the event again.
    return Response(status_code=204)


def mark_paid(order: Order) -> None:
    """Ships an order once.

    `transaction.paid` comes again, with a higher sequence, for example after a partial refund, a refused refund or a
    rejected dispute.
    """
    if order.status not in ("PAID", "REFUNDED"):
        order.status = "PAID"
        print(f"ship {order.id}", flush=True)


if __name__ == "__main__":
    import uvicorn

    print(f"The shop is open: http://127.0.0.1:{PORT}", flush=True)
    uvicorn.run(app, port=int(PORT), log_level="warning")
