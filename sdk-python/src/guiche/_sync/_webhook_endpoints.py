# Written by `npm run sdk:types` from ../_async/_webhook_endpoints.py. Edit that, not this file.

from __future__ import annotations

from .._http import to_segment
from ..types import (
    CreateWebhookEndpointBody,
    UpdateWebhookEndpointBody,
    WebhookEndpoint,
    WebhookEndpointCreated,
    WebhookEndpointFilters,
    WebhookEndpointSecret,
    WebhookTest,
)
from ._client import Client, Options
from ._list import List


class WebhookEndpoints:
    """
    Addresses that receive the events of your transactions and withdrawals, in addition to the ``webhookUrl`` of a
    single transaction or withdrawal. Each has its own filter of event types and its own secret.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    def create(
        self, input: CreateWebhookEndpointBody, *, timeout: float | None = None, max_retries: int | None = None
    ) -> WebhookEndpointCreated:
        """
        Registers an address. Only this answer contains the secret that verifies its deliveries. The SDK does not repeat
        the call if its answer is lost: that would register a second endpoint.
        """
        options = Options(timeout, max_retries)
        created: WebhookEndpointCreated = self._client.post("/webhook-endpoint", options, {**input})
        return created

    def list(
        self,
        filters: WebhookEndpointFilters | None = None,
        *,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> List[WebhookEndpoint]:
        """Endpoints, newest first."""
        return self._client.list("/webhook-endpoint", filters, Options(timeout, max_retries))

    def get(self, id: str, *, timeout: float | None = None, max_retries: int | None = None) -> WebhookEndpoint:
        """One endpoint."""
        options = Options(timeout, max_retries)
        endpoint: WebhookEndpoint = self._client.get(f"/webhook-endpoint/{to_segment(id)}", options)
        return endpoint

    def update(
        self,
        id: str,
        input: UpdateWebhookEndpointBody,
        *,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> WebhookEndpoint:
        """Changes an endpoint, or disables or enables it. Fields that are left out stay as they are."""
        options = Options(timeout, max_retries)
        endpoint: WebhookEndpoint = self._client.change(
            "PATCH", f"/webhook-endpoint/{to_segment(id)}", options, {**input}
        )
        return endpoint

    def delete(self, id: str, *, timeout: float | None = None, max_retries: int | None = None) -> None:
        """Deletes an endpoint. Its deliveries that are not finished are canceled."""
        path = f"/webhook-endpoint/{to_segment(id)}"
        self._client.change("DELETE", path, Options(timeout, max_retries))

    def rotate_secret(
        self,
        id: str,
        *,
        overlap_hours: int | None = None,
        secret_id: str | None = None,
        timeout: float | None = None,
        max_retries: int | None = None,
    ) -> WebhookEndpointSecret:
        """
        Makes a new secret. The former one also signs for ``overlap_hours``, 24 by default. Give your own ``secret_id``, a
        UUID of version 4, and repeat the call with it if the answer is lost. With another id, or none, the call is a
        second rotation: the secret that your receivers still use ends at once, since only the newest two secrets sign.
        The SDK repeats the call after a lost answer only if it has a ``secret_id``.
        """
        input = {"overlapHours": overlap_hours, "secretId": secret_id}
        body = {name: value for name, value in input.items() if value is not None}
        path = f"/webhook-endpoint/{to_segment(id)}/secret"
        secret: WebhookEndpointSecret = self._client.post(
            path, Options(timeout, max_retries), body, is_repeatable=secret_id is not None
        )
        return secret

    def test(self, id: str, *, timeout: float | None = None, max_retries: int | None = None) -> WebhookTest:
        """Sends a signed test event, ``webhook.test``, at once, and returns whether and how the receiver answered."""
        options = Options(timeout, max_retries)
        answer: WebhookTest = self._client.post(f"/webhook-endpoint/{to_segment(id)}/test", options)
        return answer
