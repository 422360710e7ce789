"""The shapes of the API. Amounts are integers in cents, dates text in ISO 8601."""

# Written by `npm run sdk:types` from docs/openapi.json, which `npm run openapi` writes. Edit the routes' schemas.

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, TypeAlias, TypedDict


class TaxDocument(TypedDict):
    """A CPF or CNPJ."""

    value: str
    """Without punctuation."""
    type: Literal["CPF", "CNPJ"]


class _CustomerAlways(TypedDict):
    name: str
    email: str
    document: TaxDocument


class Customer(_CustomerAlways, total=False):
    """The customer."""

    ip: str
    landline: str
    mobilePhone: str


class Seller(TypedDict):
    """The seller."""

    name: str
    document: TaxDocument


class _AddressAlways(TypedDict):
    zipCode: str
    number: str
    street: str
    neighborhood: str
    city: str
    state: str
    country: str


class Address(_AddressAlways, total=False):
    """The delivery address of a physical product."""

    complement: str


class _ItemAlways(TypedDict):
    title: str
    unitPrice: int
    """Cents."""
    quantity: int


class Item(_ItemAlways, total=False):
    """An item of the purchase."""

    description: str


# The status of a transaction.
TransactionStatus: TypeAlias = Literal["PENDING", "PIX_QRCODE_GENERATED", "PAID", "PROCESSING_REFUND", "PROCESSING_INFRACTION", "REFUNDED", "INFRACTION", "FAILED", "BLOCKED"]


class TransactionStatusEntry(TypedDict):
    """A status that the record had or has."""

    status: TransactionStatus
    date: str
    """When the status was reached."""
    durationInMilliseconds: int | None
    """Time spent in the status; null for the current one."""


# The status of a refund.
RefundStatus: TypeAlias = Literal["PROCESSING", "REFUNDED", "FAILED"]


class Refund(TypedDict):
    """A refund of a transaction."""

    id: str
    """Identifier."""
    amount: int
    """Cents."""
    status: RefundStatus
    endToEndRefund: str | None
    """EndToEndId of the return."""
    reason: str | None
    """Reason given in the request."""
    createdAt: str
    """When it was requested."""


# The status of a dispute (MED).
DisputeStatus: TypeAlias = Literal["OPEN", "ACCEPTED", "RETURNED", "REJECTED", "CANCELED"]


class Dispute(TypedDict):
    """A dispute (MED) of a transaction."""

    id: str
    """Identifier."""
    amount: int
    """Disputed amount in cents."""
    amountReturned: int
    """Cents returned to the payer under it."""
    amountBlocked: int
    """Cents blocked for it now."""
    status: DisputeStatus
    reason: str | None
    """Reason given by the acquirer or the operator."""
    openedAt: str
    """When it was opened."""
    deadline: str | None
    """Deadline of the decision, if the acquirer gives one."""
    finishedAt: str | None
    """When it ended."""


class Return(TypedDict):
    """Money that went back to the payer other than by a refund."""

    endToEndRefund: str | None
    """EndToEndId of the return."""
    amount: int
    """Cents; negative if it corrects an earlier entry."""
    disputeId: str | None
    """The dispute under which it was returned; null if the bank returned it without one."""
    date: str
    """When it was returned."""


class PixCodeIfAny(TypedDict):
    """The code of a transaction. All three fields are null if the acquirer has given no code."""

    uri: str | None
    """Copy-and-paste code (BR Code)."""
    qrCodeBase64: str | None
    """The same as a PNG image, as a data URL."""
    expirationDate: str | None
    """When the code expires."""


class BankAccount(TypedDict):
    """An account at a bank."""

    type: str
    branch: str
    number: str
    digit: str
    ispb: str
    """ISPB code of the bank."""


# The types of PIX keys.
PixKeyType: TypeAlias = Literal["CPF", "CNPJ", "EMAIL", "PHONE", "EVP"]


class PixKey(TypedDict):
    """A PIX key: the address of an account."""

    key: str
    type: PixKeyType


class AccountHolder(TypedDict):
    """The person or company that paid or was paid."""

    type: Literal["PF", "PJ"]
    name: str
    document: str
    """CPF or CNPJ, bare."""
    bankAccount: BankAccount
    pix: PixKey


class _TransactionAlways(TypedDict):
    id: str
    """Identifier."""
    acquirer: str
    amount: int
    """Cents; 1 to 10000000."""
    paymentMethod: Literal["PIX"]
    isInfoProduct: bool
    createdAt: str
    """Creation."""
    status: TransactionStatus
    statusHistory: list[TransactionStatusEntry]
    updatedAt: str
    """Last change."""
    infractionDate: str | None
    """When a dispute (MED) was opened."""
    pixResponse: PixCodeIfAny
    errorMessage: str | None
    """Why it failed, or why a refund was refused."""


class Transaction(_TransactionAlways, total=False):
    """A charge by PIX. Amounts are in cents, dates in ISO 8601."""

    webhookUrl: str
    returnUrl: str
    """As in the request."""
    externalCode: str
    customer: Customer
    seller: Seller
    address: Address
    items: list[Item]
    description: str
    """As in the request."""
    metadata: dict[str, Any]
    amountPaid: int
    """Cents received."""
    amountRefunded: int
    """Cents refunded; present once paid."""
    refunds: list[Refund]
    """In the order of their requests; present once paid."""
    amountReturned: int
    """Cents returned other than by refunds: under MED, or by the bank; present once paid."""
    disputes: list[Dispute]
    """Disputes (MED), the oldest first; present once paid."""
    returns: list[Return]
    """Returns other than refunds; present once paid."""
    paymentDate: str
    """When the payer paid."""
    failureCode: Literal["expired", "removed", "canceled", "refused"]
    """Why the status is FAILED, as a code to compare; `refused`: the acquirer refused the charge, and `errorMessage` has its reason."""
    endToEnd: str
    """EndToEndId of the Pix."""
    payer: AccountHolder
    receiver: AccountHolder
    feeAmount: int
    """Cents."""


class PixCode(TypedDict):
    """The code that a payer pays: as text to copy, and as a QR image."""

    uri: str
    """Copy-and-paste code (BR Code)."""
    qrCodeBase64: str
    """The same as a PNG image, as a data URL."""
    expirationDate: str
    """When the code expires."""


class _TransactionCreatedAlways(TypedDict):
    id: str
    """Identifier of the transaction."""
    amount: int
    """Cents."""
    type: Literal["TRANSACTION"]
    status: Literal["PIX_QRCODE_GENERATED"]
    pixResponse: PixCode
    paymentUrl: str
    """The payment page of this transaction: send the customer there. Its address does not change."""


class TransactionCreated(_TransactionCreatedAlways, total=False):
    """The answer to a create."""

    externalCode: str


class PaymentLink(TypedDict):
    """The page where a customer pays a transaction."""

    url: str
    """Send the customer here; whoever has the address can see the page."""
    expiresAt: str | None
    """When its code expires; the page continues to show the state of the payment. Null while there is no code."""


class RefundCreated(TypedDict):
    """The answer to a refund request."""

    id: str
    """Identifier of the refund."""
    transactionId: str
    """The transaction that is refunded."""
    amount: int
    """Cents."""
    type: Literal["REFUND"]
    status: Literal["PROCESSING"]


# The status of a withdrawal.
WithdrawalStatus: TypeAlias = Literal["PENDING", "PROCESSING", "PROCESSED", "FAILED", "CANCELED", "REFUNDED", "REJECTED"]


# Present while it is pending review and not sent: it waits for the operator (approval), or it looks like a recent one and waits for POST /withdrawal/{id}/confirm (duplicate).
WithdrawalHold: TypeAlias = Literal["approval", "duplicate"]


class WithdrawalStatusEntry(TypedDict):
    """A status that the record had or has."""

    status: WithdrawalStatus
    date: str
    """When the status was reached."""
    durationInMilliseconds: int | None
    """Time spent in the status; null for the current one."""


class _WithdrawalAlways(TypedDict):
    id: str
    """Identifier."""
    acquirer: str
    amount: int
    """Cents."""
    method: Literal["PIX"]
    createdAt: str
    """Creation."""
    status: WithdrawalStatus
    statusHistory: list[WithdrawalStatusEntry]
    updatedAt: str
    """Last change."""
    errorMessage: str | None
    """Why it failed, was rejected or was returned."""


class Withdrawal(_WithdrawalAlways, total=False):
    """Money sent to a PIX key. Amounts are in cents, dates in ISO 8601."""

    webhookUrl: str
    externalCode: str
    metadata: dict[str, Any]
    hold: WithdrawalHold
    amountWithdrawn: int
    """Cents sent."""
    processedDate: str
    """When the bank executed it."""
    endToEnd: str
    """EndToEndId of the Pix."""
    payer: AccountHolder
    receiver: AccountHolder
    pixKey: PixKey
    feeAmount: int
    """Fee in cents, on top of the amount; returned if the withdrawal is not sent."""


class _WithdrawalCreatedAlways(TypedDict):
    id: str
    """Identifier of the withdrawal."""
    amount: int
    """Cents."""
    type: Literal["WITHDRAWAL"]
    status: Literal["PENDING"]


class WithdrawalCreated(_WithdrawalCreatedAlways, total=False):
    """The answer to a withdrawal request."""

    externalCode: str
    hold: WithdrawalHold


class Balance(TypedDict):
    """The balance. Amounts are in cents."""

    available: int
    """Cents that may be withdrawn or refunded."""
    reserved: int
    """Cents set aside for withdrawals and refunds in progress."""
    blocked: int
    """Cents set aside while payments are disputed (MED)."""
    debt: int
    """Cents owed, because money that had to be taken back, such as that of a disputed payment, was already spent; later payments repay it first."""
    at: str
    """The moment of this balance."""


# The reason of a change of the available balance.
StatementKind: TypeAlias = Literal["payment", "fee", "debt_repaid", "refund_reserved", "refund_sent", "refund_released", "fee_returned", "fee_return_reversed", "infraction_blocked", "infraction_returned", "infraction_released", "withdrawal_reserved", "withdrawal_sent", "withdrawal_released", "withdrawal_returned", "payment_held", "held_returned", "held_matched", "match_undone", "correction", "fees_drawn", "pay_in", "debt_written_off", "psp_fee", "manual", "moved_out", "moved_in"]


class StatementEntry(TypedDict):
    """One change of the available balance. Amounts are in cents."""

    id: int
    """Number of the transfer."""
    kind: StatementKind
    amount: int
    """Cents; negative if it left the available balance."""
    balance: int
    """The available balance after it, in cents."""
    recordType: Literal["transaction", "refund", "infraction", "withdrawal", "suspense", "correction", "fee_draw", "pay_in", "write_off", "psp_fee", "manual_entry", "move_out", "move_in"]
    recordId: str
    """Identifier of the record that it was posted for."""
    transactionId: str | None
    """The transaction of that record: GET /transaction/{id} shows the refund, the dispute or the correction."""
    description: str | None
    """Description of an entry whose recordId cannot be looked up: an entry of the operator, such as pay_in or manual_entry, or a correction. Null for all others."""
    correctedSubject: Literal["payment", "return", "payout", None]
    """Of a correction: what the list of the PSP and the ledger differed about. Null for all others."""
    correctedReference: str | None
    """Of a correction: the reference of that payment, return or payout."""
    createdAt: str
    """When it was posted."""


class EventSummary(TypedDict):
    """One status change, and the state of its delivery."""

    id: str
    """Identifier of the event: `webhook-id` of its delivery."""
    type: str
    """Such as transaction.paid."""
    recordType: Literal["transaction", "withdrawal"]
    recordId: str
    """Identifier of the transaction or withdrawal."""
    sequence: int
    """Number of this status change of the record, from 1."""
    createdAt: str
    """When it happened."""
    delivery: str | None
    """State of its delivery to the record’s `webhookUrl`; null when it has none."""


# Waiting: behind an earlier event of its record; pending: to be tried; delivered; exhausted: all attempts failed; gone: the receiver answered 410; canceled: its endpoint was disabled or deleted.
DeliveryState: TypeAlias = Literal["waiting", "pending", "delivered", "exhausted", "gone", "canceled"]


# The error as a code; null without an error, or if its text gives the HTTP status or other details.
AttemptErrorCode: TypeAlias = Literal["no_answer", "redirected", "gone", "address_not_allowed", "private_address", "connection_refused", "connection_closed", "connection_timeout", "connection_failed", "unreachable", "name_not_found", "name_without_address", "name_server_failed", "name_server_timeout", "head_too_long", "certificate_expired", "certificate_self_signed", "certificate_untrusted", "certificate_of_other_name", "certificate_without_chain", "not_http", None]


class DeliveryAttempt(TypedDict):
    """One request to your receiver."""

    number: int
    startedAt: str
    """Start of the attempt."""
    durationInMilliseconds: int
    status: int | None
    """HTTP status of the response; null when there was none."""
    error: str | None
    """Why the attempt failed."""
    errorCode: AttemptErrorCode
    response: str | None
    """The first 2 kB of the response’s body; null if there was no response or it had no text."""


class Delivery(TypedDict):
    """The delivery of an event to your receiver, with its attempts."""

    eventId: str
    """Identifier of the event: `webhook-id`."""
    endpointId: str | None
    """The registered endpoint; null for the record’s own `webhookUrl`."""
    type: str
    recordId: str
    """Identifier of the transaction or withdrawal."""
    sequence: int
    url: str
    state: DeliveryState
    nextAttemptAt: str | None
    """When it is tried next."""
    lastStatus: int | None
    """HTTP status of the last response."""
    lastError: str | None
    """Why the last attempt failed."""
    lastErrorCode: AttemptErrorCode
    createdAt: str
    """When the event happened."""
    finishedAt: str | None
    """When it was delivered or given up."""
    attempts: list[DeliveryAttempt]


class Resent(TypedDict):
    """A delivery whose schedule starts again."""

    eventId: str
    """Identifier of the event."""
    state: Literal["pending", "waiting"]


class _FieldErrorAlways(TypedDict):
    field: str
    """A path such as `items[0].unitPrice`."""
    code: str
    message: str


class FieldError(_FieldErrorAlways, total=False):
    """One error of a request."""

    limit: int
    """The smallest or largest value that is allowed."""
    unit: Literal["cents", "bytes"]
    """The unit of `limit`; absent for a plain number, or a count of characters or items."""
    recordId: str
    """The record that the error is about, if the address does not name it."""


# Request: by a request; failing: every attempt failed for five days; gone: it answered 410; null while enabled.
WebhookEndpointDisabledReason: TypeAlias = Literal["request", "failing", "gone", None]


class WebhookEndpoint(TypedDict):
    """An address that receives the events of all records."""

    id: str
    """Identifier of the endpoint."""
    url: str
    """Where the events are sent."""
    description: str
    """Your own note, such as the system behind the address."""
    eventTypes: list[str]
    """The types of events that are sent there; `["*"]` for all, including those of later versions."""
    enabled: bool
    """Whether it receives events."""
    disabledReason: WebhookEndpointDisabledReason
    disabledAt: str | None
    """Since when it is disabled."""
    failingSince: str | None
    """Since when every attempt has failed; null after one that succeeded."""
    createdAt: str
    """When it was registered."""
    updatedAt: str
    """When it was last changed."""


class WebhookEndpointCreated(TypedDict):
    """A new webhook endpoint with its secret."""

    id: str
    """Identifier of the endpoint."""
    url: str
    """Where the events are sent."""
    description: str
    """Your own note, such as the system behind the address."""
    eventTypes: list[str]
    """The types of events that are sent there; `["*"]` for all, including those of later versions."""
    enabled: bool
    """Whether it receives events."""
    disabledReason: WebhookEndpointDisabledReason
    disabledAt: str | None
    """Since when it is disabled."""
    failingSince: str | None
    """Since when every attempt has failed; null after one that succeeded."""
    createdAt: str
    """When it was registered."""
    updatedAt: str
    """When it was last changed."""
    secret: str
    """Verifies its deliveries. Shown only in this response."""


class WebhookEndpointSecret(TypedDict):
    """A new secret of a webhook endpoint."""

    secret: str
    """Verifies the deliveries from now on. Shown only in this response."""
    formerExpiresAt: str
    """Until when deliveries also carry the signature by the former secret."""


class WebhookTest(TypedDict):
    """The answer of a receiver to a test."""

    eventId: str
    """`webhook-id` of the test."""
    delivered: bool
    """Whether the receiver answered 2xx within 15 seconds."""
    status: int | None
    """HTTP status of the response; null when there was none."""
    error: str | None
    """Why it failed."""
    errorCode: AttemptErrorCode
    durationInMilliseconds: int
    response: str | None
    """The first 2 kB of the response’s body; null if there was no response or it had no text."""


class _CreateWebhookEndpointBodyAlways(TypedDict):
    url: str
    """Receives the events; https, a public host, no fragment; up to 2048 characters."""


class CreateWebhookEndpointBody(_CreateWebhookEndpointBodyAlways, total=False):
    """The body of a request to register a webhook endpoint."""

    description: str
    """Your own note, such as the system behind the address; up to 255 characters."""
    eventTypes: list[Literal["transaction.pix_qrcode_generated", "transaction.paid", "transaction.processing_refund", "transaction.processing_infraction", "transaction.refunded", "transaction.infraction", "transaction.failed", "transaction.blocked", "withdrawal.processing", "withdrawal.processed", "withdrawal.failed", "withdrawal.canceled", "withdrawal.refunded", "withdrawal.rejected", "*"]]
    """The types of events that are sent there; `["*"]` for all, including those of later versions."""


class UpdateWebhookEndpointBody(TypedDict, total=False):
    """A change of a webhook endpoint."""

    url: str
    """Receives the events; https, a public host, no fragment; up to 2048 characters."""
    description: str
    """Your own note, such as the system behind the address; up to 255 characters."""
    eventTypes: list[Literal["transaction.pix_qrcode_generated", "transaction.paid", "transaction.processing_refund", "transaction.processing_infraction", "transaction.refunded", "transaction.infraction", "transaction.failed", "transaction.blocked", "withdrawal.processing", "withdrawal.processed", "withdrawal.failed", "withdrawal.canceled", "withdrawal.refunded", "withdrawal.rejected", "*"]]
    """The types of events that are sent there; `["*"]` for all, including those of later versions."""
    enabled: bool
    """False: it receives no more events, and what waits for it is canceled."""


class SandboxPaid(TypedDict):
    """The payment or return that was made."""

    endToEndId: str
    """Identifier of the Pix."""


class SandboxPayerBankAccount(TypedDict, total=False):
    type: str
    branch: str
    number: str
    digit: str
    ispb: str
    """ISPB code of the bank."""


class SandboxPayer(TypedDict, total=False):
    """The payer at the simulated bank. Omitted fields get defaults."""

    type: Literal["PF", "PJ"]
    name: str
    document: str
    """CPF or CNPJ, bare."""
    pix: PixKey
    bankAccount: SandboxPayerBankAccount


class _SandboxPaymentAlways(TypedDict):
    uri: str
    """The copy-and-paste code; 1 to 4096 characters."""


class SandboxPayment(_SandboxPaymentAlways, total=False):
    """A payment at the simulated bank."""

    amount: int
    """Cents, to pay another amount than the code has; 1 to 999999999999."""
    payer: SandboxPayer
    behaviour: Literal["honest", "without_txid", "slow", "late", "twice", "other_amount", "other_payer", "returned", "contested", "callback_never", "callback_twice", "callback_late", "callback_forged"]
    """The fault to inject; honest: none, whatever the fault profile of the bank."""


class _SandboxInfractionAlways(TypedDict):
    endToEnd: str
    """The endToEnd of a paid transaction; 1 to 64 characters."""


class SandboxInfraction(_SandboxInfractionAlways, total=False):
    """A dispute (MED) at the simulated bank."""

    amount: int
    """Cents; the whole payment by default; 1 to 999999999999."""
    reason: Literal["fraud", "operational_failure"]
    """Fraud by default."""


class SandboxDisputed(TypedDict):
    """The dispute."""

    reference: str
    """Names the dispute in a decision."""


class _SandboxReturnAlways(TypedDict):
    endToEnd: str
    """The endToEnd of a paid transaction; 1 to 64 characters."""


class SandboxReturn(_SandboxReturnAlways, total=False):
    """An unannounced return under MED."""

    amount: int
    """Cents; the whole remaining amount by default; 1 to 999999999999."""


class SandboxWithdrawalReturn(TypedDict, total=False):
    """A withdrawal that is sent back."""

    amount: int
    """Cents; the whole remaining amount by default; 1 to 999999999999."""


# The named fault profiles of the simulated bank.
SandboxPersonalityName: TypeAlias = Literal["honest", "forgetful", "late", "careless", "forged", "quarrelsome", "hostile"]


class SandboxTraits(TypedDict, total=False):
    """The faults of the simulated bank, with the probability of each, from 0 to 1."""

    without_txid: float
    """0 to 1."""
    slow: float
    """0 to 1."""
    late: float
    """0 to 1."""
    twice: float
    """0 to 1."""
    other_amount: float
    """0 to 1."""
    other_payer: float
    """0 to 1."""
    returned: float
    """0 to 1."""
    contested: float
    """0 to 1."""
    callback_never: float
    """0 to 1."""
    callback_twice: float
    """0 to 1."""
    callback_late: float
    """0 to 1."""
    callback_forged: float
    """0 to 1."""
    answer_lost: float
    """0 to 1."""
    payout_rejected: float
    """0 to 1."""
    return_rejected: float
    """0 to 1."""


class SandboxPersonality(TypedDict):
    """The fault profile of the simulated bank."""

    name: SandboxPersonalityName
    seed: int
    """The same seed has the same effect on the same payments; 0 to 9007199254740991."""
    traits: SandboxTraits


class _SandboxPersonalityInputAlways(TypedDict):
    name: SandboxPersonalityName


class SandboxPersonalityInput(_SandboxPersonalityInputAlways, total=False):
    """A new fault profile for the simulated bank."""

    seed: int
    """The same seed has the same effect on the same payments; 0 to 9007199254740991."""
    traits: SandboxTraits


class SandboxDue(TypedDict):
    """What has come due. Its effects follow within seconds."""

    charges: int
    """Codes that have expired."""
    payments: int
    """Delayed payments that the simulated bank has now shown."""
    refunds: int
    """Refunds and returns that the simulated bank has now settled."""
    withdrawals: int
    """Withdrawals that the simulated bank has now settled."""
    disputes: int
    """Disputes that were opened, paid back, or have reached their deadline."""
    checks: int
    """Open withdrawals and refunds whose next check is due."""
    webhooks: int
    """Deliveries whose next attempt is due."""


class SandboxAdvanced(TypedDict):
    """What has come due because time has passed."""

    advancedSeconds: int
    """How much time has passed with this call."""
    offsetSeconds: int
    """How much time has passed with all calls of this merchant."""
    due: SandboxDue


class _CustomerInputAlways(TypedDict):
    name: str
    """1 to 255 characters."""
    document: str
    """CPF or CNPJ, with or without punctuation; a CNPJ may be alphanumeric."""
    email: str
    """Up to 254 characters."""


class CustomerInput(_CustomerInputAlways, total=False):
    """The customer."""

    ip: str
    landline: str
    """Up to 30 characters."""
    mobilePhone: str
    """Up to 30 characters."""
    birthdate: str


class SellerInput(TypedDict):
    """The seller."""

    name: str
    """1 to 255 characters."""
    document: str
    """CPF or CNPJ, with or without punctuation; a CNPJ may be alphanumeric."""


class _AddressInputAlways(TypedDict):
    zipCode: str
    number: str
    """1 to 10 characters."""
    street: str
    """2 to 200 characters."""
    neighborhood: str
    """2 to 100 characters."""
    city: str
    """2 to 100 characters."""
    state: str
    """2 to 50 characters."""
    country: str
    """2 to 60 characters."""


class AddressInput(_AddressInputAlways, total=False):
    """The delivery address of a physical product."""

    complement: str
    """2 to 150 characters."""


class _ItemInputAlways(TypedDict):
    title: str
    """2 to 150 characters."""
    unitPrice: int
    """Cents; 1 to 10000000."""


class ItemInput(_ItemInputAlways, total=False):
    """An item of the purchase."""

    description: str
    """2 to 255 characters."""
    quantity: int
    """1 to 100; 1 by default."""


class CreateTransactionPix(TypedDict, total=False):
    expirationSeconds: int
    """Lifetime of the QR code; 60 to 86400; 1800 by default."""


class _CreateTransactionAlways(TypedDict):
    amount: int
    """Cents; 1 to 10000000."""


class CreateTransaction(_CreateTransactionAlways, total=False):
    """A charge. `address` is required if `isInfoProduct` is false."""

    paymentMethod: Literal["PIX"]
    webhookUrl: str
    """Receives every change; https, a public host, no fragment; up to 2048 characters."""
    returnUrl: str
    """The payment page links to it, with `transactionId` added after the payment; https, a public host, no fragment; up to 2048 characters."""
    externalCode: str
    """Your reference; need not be unique; 8 to 255 characters."""
    idempotencyKey: str
    """Requests with the same key and content return the same transaction; 8 to 255 characters."""
    customer: CustomerInput
    seller: SellerInput
    isInfoProduct: bool
    """Digital product; a physical one needs an address; true by default."""
    address: AddressInput
    items: list[ItemInput]
    description: str
    """What is bought, as the payer’s bank shows it after your name; by default the titles of the items; 1 to 140 characters."""
    metadata: dict[str, Any]
    """Free-form; up to 8 KiB as JSON, 64 keys in all and 8 levels."""
    pix: CreateTransactionPix


class PixKeyInput(TypedDict):
    """A PIX key, which must be valid for its type."""

    key: str
    """Formatted or bare; stored in normal form; 1 to 77 characters."""
    type: PixKeyType


class _CreateWithdrawalAlways(TypedDict):
    amount: int
    """Cents that the receiver gets; the fee comes on top; 10 to 10000000."""
    pixKey: PixKeyInput


class CreateWithdrawal(_CreateWithdrawalAlways, total=False):
    """A withdrawal to a PIX key."""

    method: Literal["PIX"]
    webhookUrl: str
    """Receives every change; https, a public host, no fragment; up to 2048 characters."""
    externalCode: str
    """Your reference; need not be unique; 8 to 255 characters."""
    idempotencyKey: str
    """Requests with the same key and content return the same withdrawal. May be sent as the header Idempotency-Key; 8 to 255 characters."""
    metadata: dict[str, Any]
    """Free-form; up to 8 KiB as JSON, 64 keys in all and 8 levels."""


class CreateRefund(TypedDict, total=False):
    """A refund of what is left of a payment, or of a part of it."""

    amount: int
    """Cents; up to what is left of the payment, which is also the default."""
    reason: str
    """2 to 140 characters."""
    idempotencyKey: str
    """Requests with the same key and content return the same refund. May be sent as the header Idempotency-Key; 8 to 255 characters."""


class TransactionFilters(TypedDict, total=False):
    """Filters of the list of transactions; all must match."""

    startDate: str | datetime
    """Created at or after; ISO 8601 with time; UTC if it has no offset."""
    endDate: str | datetime
    """Created at or before; ISO 8601 with time; UTC if it has no offset."""
    status: list[TransactionStatus]
    """Any of these; in the query, repeat the parameter."""
    customerEmail: str
    """Case does not matter; up to 254 characters."""
    customerName: str
    """Any part of it; case and accents do not matter; 1 to 255 characters."""
    customerDocument: str
    """CPF or CNPJ, with or without punctuation; a CNPJ may be alphanumeric."""
    customerPhone: str
    """Either phone; only the digits are compared; up to 30 characters."""
    id: str
    """Its identifier."""
    endToEnd: str
    """EndToEndId of the Pix; 8 to 255 characters."""
    endToEndRefund: str
    """EndToEndId of a refund or another return, MED included; 8 to 255 characters."""
    externalCode: str
    """Your reference; 8 to 255 characters."""
    paymentMethod: list[Literal["PIX"]]
    """Any of these."""
    minAmount: int
    """Cents; 1 to 10000000."""
    maxAmount: int
    """Cents; 1 to 10000000."""
    page: int
    """Page number, from 1 (the default). To go past the first 100000 items, follow `nextCursor` instead; 1 to 1000000000."""
    perPage: int
    """Items per page; 1 to 100; 20 by default."""
    cursor: str
    """Instead of `page`: the `nextCursor` of the previous page, with the same filters; 1 to 255 characters."""


class WithdrawalFilters(TypedDict, total=False):
    """Filters of the list of withdrawals; all must match."""

    startDate: str | datetime
    """Created at or after; ISO 8601 with time; UTC if it has no offset."""
    endDate: str | datetime
    """Created at or before; ISO 8601 with time; UTC if it has no offset."""
    status: list[WithdrawalStatus]
    """Any of these; in the query, repeat the parameter."""
    id: str
    """Its identifier."""
    pixKey: str
    """CPF, CNPJ, e-mail, phone or EVP; up to 77 characters."""
    endToEnd: str
    """EndToEndId of the Pix; 8 to 255 characters."""
    endToEndRefund: str
    """EndToEndId of the return; 8 to 255 characters."""
    externalCode: str
    """Your reference; 8 to 255 characters."""
    minAmount: int
    """Cents; 10 to 10000000."""
    maxAmount: int
    """Cents; 10 to 10000000."""
    page: int
    """Page number, from 1 (the default). To go past the first 100000 items, follow `nextCursor` instead; 1 to 1000000000."""
    perPage: int
    """Items per page; 1 to 100; 20 by default."""
    cursor: str
    """Instead of `page`: the `nextCursor` of the previous page, with the same filters; 1 to 255 characters."""


class StatementFilters(TypedDict, total=False):
    """Filters of the statement; all must match."""

    startDate: str | datetime
    """Posted at or after; ISO 8601 with time; UTC if it has no offset."""
    endDate: str | datetime
    """Posted at or before; ISO 8601 with time; UTC if it has no offset."""
    kind: list[StatementKind]
    """Any of these; in the query, repeat the parameter."""
    page: int
    """Page number, from 1 (the default). To go past the first 100000 items, follow `nextCursor` instead; 1 to 1000000000."""
    perPage: int
    """Items per page; 1 to 100; 20 by default."""
    cursor: str
    """Instead of `page`: the `nextCursor` of the previous page, with the same filters; 1 to 255 characters."""


class EventFilters(TypedDict, total=False):
    """The page of the list of events."""

    page: int
    """Page number, from 1 (the default). To go past the first 100000 items, follow `nextCursor` instead; 1 to 1000000000."""
    perPage: int
    """Items per page; 1 to 100; 20 by default."""
    cursor: str
    """Instead of `page`: the `nextCursor` of the previous page, with the same filters; 1 to 255 characters."""


# What can happen to a record.
EventType: TypeAlias = Literal["transaction.pix_qrcode_generated", "transaction.paid", "transaction.processing_refund", "transaction.processing_infraction", "transaction.refunded", "transaction.infraction", "transaction.failed", "transaction.blocked", "withdrawal.processing", "withdrawal.processed", "withdrawal.failed", "withdrawal.canceled", "withdrawal.refunded", "withdrawal.rejected"]


class FollowQuery(TypedDict, total=False):
    """Where to begin, and which events."""

    after: str
    """Read the feed after this position: `start`, `end`, or a `next` or `position` that you saved."""
    type: list[EventType]
    """Only events of these types; repeat the parameter."""
    recordId: str
    """Only events of this transaction or withdrawal."""
    startDate: str | datetime
    """Only events that happened at or after; ISO 8601 with time; UTC if it has no offset."""


class _FeedQueryAlways(TypedDict):
    after: str
    """Read the feed after this position: `start`, `end`, or a `next` or `position` that you saved."""


class FeedQuery(_FeedQueryAlways, total=False):
    """What selects events of the feed: those after a position."""

    limit: int
    """Events per page of the feed; 100 by default; 1 to 100."""
    wait: int
    """Wait up to this many seconds for an event, if the feed has none after the position; 0 to 20."""
    type: list[EventType]
    """Only events of these types; repeat the parameter."""
    recordId: str
    """Only events of this transaction or withdrawal."""
    startDate: str | datetime
    """Only events that happened at or after; ISO 8601 with time; UTC if it has no offset."""


class DeliveryFilters(TypedDict, total=False):
    """Filters of the list of deliveries; all must match."""

    state: DeliveryState
    recordId: str
    """Only deliveries of this transaction or withdrawal."""
    eventId: str
    """Only the deliveries of this event."""
    endpointId: str
    """Only deliveries to this registered endpoint."""
    page: int
    """Page number, from 1 (the default). To go past the first 100000 items, follow `nextCursor` instead; 1 to 1000000000."""
    perPage: int
    """Items per page; 1 to 100; 20 by default."""
    cursor: str
    """Instead of `page`: the `nextCursor` of the previous page, with the same filters; 1 to 255 characters."""


class WebhookEndpointFilters(TypedDict, total=False):
    """The page of the list of endpoints."""

    page: int
    """Page number, from 1 (the default). To go past the first 100000 items, follow `nextCursor` instead; 1 to 1000000000."""
    perPage: int
    """Items per page; 1 to 100; 20 by default."""
    cursor: str
    """Instead of `page`: the `nextCursor` of the previous page, with the same filters; 1 to 255 characters."""


class BalanceQuery(TypedDict, total=False):
    """The time of the balance."""

    at: str | datetime
    """The balance at this moment; now by default; ISO 8601 with time; UTC if it has no offset."""


# Creation as PENDING sends no event.
TransactionEventType: TypeAlias = Literal["transaction.pix_qrcode_generated", "transaction.paid", "transaction.processing_refund", "transaction.processing_infraction", "transaction.refunded", "transaction.infraction", "transaction.failed", "transaction.blocked"]


class TransactionEventData(Transaction):
    """The record as a fetch returned it at that time."""

    sequence: int
    """Counts the record's changes from 1. An event is stale if it is not above the last one that you saw."""


class TransactionEvent(TypedDict):
    """A change of a transaction, as a webhook has it."""

    id: str
    """Equal to the header ``webhook-id``. The same event can arrive twice, with the same id."""
    type: TransactionEventType
    timestamp: str
    """When it happened."""
    data: TransactionEventData


class TransactionFeedEvent(TransactionEvent):
    """The same in the feed."""

    number: int
    """1, 2, 3 … without a gap."""
    position: str
    """Save it when you have processed the event, and send it as ``after``."""


# Creation as PENDING sends no event.
WithdrawalEventType: TypeAlias = Literal["withdrawal.processing", "withdrawal.processed", "withdrawal.failed", "withdrawal.canceled", "withdrawal.refunded", "withdrawal.rejected"]


class WithdrawalEventData(Withdrawal):
    """The record as a fetch returned it at that time."""

    sequence: int
    """Counts the record's changes from 1. An event is stale if it is not above the last one that you saw."""


class WithdrawalEvent(TypedDict):
    """A change of a withdrawal, as a webhook has it."""

    id: str
    """Equal to the header ``webhook-id``. The same event can arrive twice, with the same id."""
    type: WithdrawalEventType
    timestamp: str
    """When it happened."""
    data: WithdrawalEventData


class WithdrawalFeedEvent(WithdrawalEvent):
    """The same in the feed."""

    number: int
    """1, 2, 3 … without a gap."""
    position: str
    """Save it when you have processed the event, and send it as ``after``."""


# Any event of a webhook. A newer service may have more types: answer those with 2xx too.
WebhookEvent: TypeAlias = "TransactionEvent | WithdrawalEvent"


# An event of the feed.
FeedEvent: TypeAlias = "TransactionFeedEvent | WithdrawalFeedEvent"


class FeedPage(TypedDict):
    """Events after a position."""

    data: list[FeedEvent]
    next: str
    """Send it as ``after`` for the next page."""
    hasMore: bool
    """True: there is more to read now."""
