"""
The SDK of Guichê, a self-hosted PIX payment gateway: ``Guiche`` for sync programs, ``AsyncGuiche`` for asyncio, and
``verify_webhook``. ``guiche.types`` has the shapes of the API, ``guiche.testing`` helpers for your tests.
"""

from ._async._guiche import AsyncGuiche
from ._async._list import AsyncList
from ._errors import (
    AcquirerRefusedError,
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
    WebhookVerificationError,
)
from ._money import format_brl, to_cents
from ._page import Page
from ._sync._guiche import Guiche
from ._sync._list import List
from ._webhook import WebhookHeaders, verify_webhook
from .types import TransactionEvent, WebhookEvent, WithdrawalEvent

__all__ = [
    "AcquirerRefusedError",
    "AcquirerUnavailableError",
    "AsyncGuiche",
    "AsyncList",
    "AuthenticationError",
    "ConnectionError",
    "Guiche",
    "GuicheError",
    "IdempotencyKeyReusedError",
    "InsufficientBalanceError",
    "List",
    "NotFoundError",
    "Page",
    "PermissionError",
    "RateLimitedError",
    "ServerError",
    "TransactionEvent",
    "ValidationError",
    "WebhookEvent",
    "WebhookHeaders",
    "WebhookVerificationError",
    "WithdrawalEvent",
    "format_brl",
    "to_cents",
    "verify_webhook",
]
