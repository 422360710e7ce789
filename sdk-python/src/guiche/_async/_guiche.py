from __future__ import annotations

from types import TracebackType

import httpx

from .._http import read_base_url
from ._client import AsyncAccessToken, AsyncClient, AsyncSettings, AsyncTokens
from ._records import AsyncBalances, AsyncDeliveries, AsyncEvents, AsyncStatement
from ._sandbox import AsyncSandbox
from ._transactions import AsyncTransactions
from ._webhook_endpoints import AsyncWebhookEndpoints
from ._withdrawals import AsyncWithdrawals

_TIMEOUT = 30.0
_MAX_RETRIES = 4


class AsyncGuiche:
    """
    A client of one Guichê service. Make one and keep it: it holds the access token and renews it in time.

    Amounts are integers in cents, dates text in ISO 8601. Every method raises a ``GuicheError`` when the service
    refuses, and a ``ConnectionError`` when it does not answer::

        guiche = AsyncGuiche(base_url="https://pix.example.com", client_id=client_id, client_secret=client_secret)
        created = await guiche.transactions.create({"amount": 2590, "externalCode": "order-2026-0001"})
    """

    transactions: AsyncTransactions
    """PIX charges: create, fetch, list, cancel, refund. Scopes: transaction.read, transaction.write, refund.write."""
    withdrawals: AsyncWithdrawals
    """Paying out by PIX. Scopes: withdrawal.read, withdrawal.write."""
    balance: AsyncBalances
    """The balance, now or at a past time. Scope: balance.read."""
    statement: AsyncStatement
    """Everything that changed the available balance. Scope: balance.read."""
    events: AsyncEvents
    """
    Status changes of transactions and withdrawals. Scopes: webhook.read, and for payloads also transaction.read and
    withdrawal.read.
    """
    deliveries: AsyncDeliveries
    """Webhook deliveries, and delivering an event again. Scopes: webhook.read, webhook.write."""
    webhook_endpoints: AsyncWebhookEndpoints
    """Addresses that receive the events of all transactions and withdrawals. Scopes: webhook.read, webhook.write."""
    sandbox: AsyncSandbox
    """Controls of the simulated PIX network: payers, their banks and receivers of withdrawals."""

    def __init__(
        self,
        *,
        base_url: str,
        client_id: str | None = None,
        client_secret: str | None = None,
        access_token: AsyncAccessToken | None = None,
        timeout: float = _TIMEOUT,
        max_retries: int = _MAX_RETRIES,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        """
        :param base_url: the address of the service, such as ``https://pix.example.com``
        :param client_id: as ``npx guiche client create`` printed it, or from ``data/sandbox.json``
        :param client_secret: keep it on a server, never in a page or an app
        :param access_token: instead of the credentials: called for each request, for an access token that you got
            elsewhere; ``None`` sends no token
        :param timeout: time limit of one try, in seconds
        :param max_retries: how many times a call is retried where that is safe: after no answer, 408, 429, 500, 502,
            503 or 504, with growing pauses of about six seconds in total; 0 disables retries
        :param http_client: a client of httpx that is used instead of an own one, for a proxy or to log requests; you
            close it
        """
        credentials = (client_id, client_secret) if client_id and client_secret else None
        if (credentials is None) == (access_token is None):
            raise TypeError(
                "Guiche needs client_id and client_secret, or access_token. Is an environment variable missing?"
            )
        http = httpx.AsyncClient() if http_client is None else http_client
        self._own_http = http if http_client is None else None
        settings = AsyncSettings(read_base_url(base_url), timeout, max_retries, http)
        client = AsyncClient(settings, AsyncTokens(settings, credentials, access_token))
        self.transactions = AsyncTransactions(client)
        self.withdrawals = AsyncWithdrawals(client)
        self.balance = AsyncBalances(client)
        self.statement = AsyncStatement(client)
        self.events = AsyncEvents(client)
        self.deliveries = AsyncDeliveries(client)
        self.webhook_endpoints = AsyncWebhookEndpoints(client)
        self.sandbox = AsyncSandbox(client)

    async def close(self) -> None:
        """Closes the connections. ``async with AsyncGuiche(…) as guiche:`` does it at the end."""
        if self._own_http is not None:
            await self._own_http.aclose()

    async def __aenter__(self) -> AsyncGuiche:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
