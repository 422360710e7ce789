// Written by `npm run sdk:types` from docs/openapi.json and the service's table of errors. Edit those, not this file.

/** Every error `code` of the service. A newer service may have more: handle unknown codes too. */
export type ErrorCode =
  | 'validation_failed'
  | 'malformed_json'
  | 'idempotency_key_reused'
  | 'acquirer_refused'
  | 'payment_refused'
  | 'insufficient_balance'
  | 'cancel_not_possible'
  | 'refund_not_possible'
  | 'infraction_not_possible'
  | 'suspense_not_possible'
  | 'difference_not_possible'
  | 'entry_not_possible'
  | 'withdrawal_not_possible'
  | 'release_not_possible'
  | 'proposal_not_possible'
  | 'erasure_not_possible'
  | 'user_not_possible'
  | 'position_unknown'
  | 'payouts_stopped'
  | 'missing_token'
  | 'invalid_token'
  | 'token_expired'
  | 'token_revoked'
  | 'not_signed_in'
  | 'sign_in_failed'
  | 'second_factor_needed'
  | 'second_factor_locked'
  | 'second_factor_required'
  | 'csrf_token_missing'
  | 'permission_missing'
  | 'client_not_registered'
  | 'merchant_moved'
  | 'certificate_refused'
  | 'insufficient_scope'
  | 'not_found'
  | 'method_not_allowed'
  | 'request_timeout'
  | 'body_too_large'
  | 'unsupported_media_type'
  | 'headers_too_large'
  | 'rate_limited'
  | 'bad_request'
  | 'internal_error'
  | 'acquirer_unavailable'
  | 'overloaded'
  | 'database_unavailable'

/** A page of a list. */
export interface Page<Entry> {
  /** Number of items on all pages. */
  total: number
  totalPages: number
  /** Counts from 1. */
  currentPage: number
  perPage: number
  data: Entry[]
  /** Send it as `cursor` to get the next page. Null on the last page. */
  nextCursor: string | null
}

/** The status of a transaction. */
export type TransactionStatus = 'PENDING' | 'PIX_QRCODE_GENERATED' | 'PAID' | 'PROCESSING_REFUND' | 'PROCESSING_INFRACTION' | 'REFUNDED' | 'INFRACTION' | 'FAILED' | 'BLOCKED'

/** The status of a withdrawal. */
export type WithdrawalStatus = 'PENDING' | 'PROCESSING' | 'PROCESSED' | 'FAILED' | 'CANCELED' | 'REFUNDED' | 'REJECTED'

/** Why a withdrawal is pending review. Present while it is pending review and not sent: it waits for the operator (approval), or it looks like a recent one and waits for POST /withdrawal/{id}/confirm (duplicate). */
export type WithdrawalHold = 'approval' | 'duplicate'

/** The status of a refund. */
export type RefundStatus = 'PROCESSING' | 'REFUNDED' | 'FAILED'

/** The reason of a change of the available balance. */
export type StatementKind = 'payment' | 'fee' | 'debt_repaid' | 'refund_reserved' | 'refund_sent' | 'refund_released' | 'fee_returned' | 'fee_return_reversed' | 'infraction_blocked' | 'infraction_returned' | 'infraction_released' | 'withdrawal_reserved' | 'withdrawal_sent' | 'withdrawal_released' | 'withdrawal_returned' | 'payment_held' | 'held_returned' | 'held_matched' | 'match_undone' | 'correction' | 'fees_drawn' | 'pay_in' | 'debt_written_off' | 'psp_fee' | 'manual' | 'moved_out' | 'moved_in'

/** The state of an event’s delivery. Waiting: behind an earlier event of its record; pending: to be tried; delivered; exhausted: all attempts failed; gone: the receiver answered 410. */
export type DeliveryState = 'waiting' | 'pending' | 'delivered' | 'exhausted' | 'gone'

/** The types of PIX keys. */
export type PixKeyType = 'CPF' | 'CNPJ' | 'EMAIL' | 'PHONE' | 'EVP'

/** A PIX key: the address of an account. */
export interface PixKey {
  key: string
  type: PixKeyType
}

/** The code that a payer pays: as text to copy, and as a QR image. */
export interface PixCode {
  /** Copy-and-paste code (BR Code). */
  uri: string
  /** The same as a PNG image, as a data URL. */
  qrCodeBase64: string
  /** When the code expires. */
  expirationDate: string
}

/** The code of a transaction, or nulls if it has none. All three are null if the acquirer has given no code. */
export interface PixCodeIfAny {
  /** Copy-and-paste code (BR Code). */
  uri: string | null
  /** The same as a PNG image, as a data URL. */
  qrCodeBase64: string | null
  /** When the code expires. */
  expirationDate: string | null
}

/** An account at a bank. */
export interface BankAccount {
  type: string
  branch: string
  number: string
  digit: string
  /** ISPB code of the bank. */
  ispb: string
}

/** The person or company that paid or was paid. */
export interface AccountHolder {
  type: 'PF' | 'PJ'
  name: string
  /** CPF or CNPJ, bare. */
  document: string
  bankAccount: BankAccount
  pix: PixKey
}

/** A CPF or CNPJ. */
export interface TaxDocument {
  /** Bare. */
  value: string
  type: 'CPF' | 'CNPJ'
}

/** The customer. */
export interface Customer {
  ip?: string
  name: string
  email: string
  document: TaxDocument
  landline?: string
  mobilePhone?: string
}

/** The seller. */
export interface Seller {
  name: string
  document: TaxDocument
}

/** The delivery address of a physical product. */
export interface Address {
  zipCode: string
  complement?: string
  number: string
  street: string
  neighborhood: string
  city: string
  state: string
  country: string
}

/** An item of the purchase. */
export interface Item {
  title: string
  description?: string
  /** Cents. */
  unitPrice: number
  quantity: number
}

/** A refund of a transaction. */
export interface Refund {
  /** Identifier. */
  id: string
  /** Cents. */
  amount: number
  status: RefundStatus
  /** EndToEndId of the return. */
  endToEndRefund: string | null
  /** Reason given in the request. */
  reason: string | null
  /** When it was requested. */
  createdAt: string
}

/** The status of a dispute (MED). */
export type DisputeStatus = 'OPEN' | 'ACCEPTED' | 'RETURNED' | 'REJECTED' | 'CANCELED'

/** A dispute (MED) of a transaction. */
export interface Dispute {
  /** Identifier. */
  id: string
  /** Disputed amount in cents. */
  amount: number
  /** Cents returned to the payer under it. */
  amountReturned: number
  /** Cents blocked for it now. */
  amountBlocked: number
  status: DisputeStatus
  /** Reason given by the acquirer or the operator. */
  reason: string | null
  /** When it was opened. */
  openedAt: string
  /** Deadline of the decision, if the acquirer gives one. */
  deadline: string | null
  /** When it ended. */
  finishedAt: string | null
}

/** Money that went back to the payer other than by a refund. */
export interface Return {
  /** EndToEndId of the return. */
  endToEndRefund: string | null
  /** Cents; negative if it corrects an earlier entry. */
  amount: number
  /** The dispute under which it was returned; null if the bank returned it without one. */
  disputeId: string | null
  /** When it was returned. */
  date: string
}

/** A status that a transaction had or has. */
export interface TransactionStatusEntry {
  status: TransactionStatus
  /** When the status was reached. */
  date: string
  /** Time spent in the status; null for the current one. */
  durationInMilliseconds: number | null
}

/** A status that a withdrawal had or has. */
export interface WithdrawalStatusEntry {
  status: WithdrawalStatus
  /** When the status was reached. */
  date: string
  /** Time spent in the status; null for the current one. */
  durationInMilliseconds: number | null
}

/** A charge by PIX. Amounts are in cents, dates in ISO 8601. */
export interface Transaction {
  /** Identifier. */
  id: string
  acquirer: string
  /** Cents; 1 to 10000000. */
  amount: number
  paymentMethod: 'PIX'
  webhookUrl?: string
  externalCode?: string
  customer?: Customer
  seller?: Seller
  isInfoProduct: boolean
  address?: Address
  items?: Item[]
  /** As in the request. */
  description?: string
  metadata?: Record<string, unknown>
  /** Creation. */
  createdAt: string
  status: TransactionStatus
  statusHistory: TransactionStatusEntry[]
  /** Last change. */
  updatedAt: string
  /** Cents received. */
  amountPaid?: number
  /** Cents refunded; present once paid. */
  amountRefunded?: number
  /** In the order of their requests; present once paid. */
  refunds?: Refund[]
  /** Cents returned other than by refunds: under MED, or by the bank; present once paid. */
  amountReturned?: number
  /** Disputes (MED), the oldest first; present once paid. */
  disputes?: Dispute[]
  /** Returns other than refunds; present once paid. */
  returns?: Return[]
  /** When the payer paid. */
  paymentDate?: string
  /** When a dispute (MED) was opened. */
  infractionDate: string | null
  /** All three are null if the acquirer has given no code. */
  pixResponse: PixCodeIfAny
  /** Why it failed, or why a refund was refused. */
  errorMessage: string | null
  /** Why it is FAILED, for programs; `refused` by the acquirer. */
  failureCode?: 'expired' | 'removed' | 'canceled' | 'refused'
  /** EndToEndId of the Pix. */
  endToEnd?: string
  payer?: AccountHolder
  receiver?: AccountHolder
  /** Cents. */
  feeAmount?: number
}

/** Money sent to a PIX key. Amounts are in cents, dates in ISO 8601. */
export interface Withdrawal {
  /** Identifier. */
  id: string
  acquirer: string
  /** Cents. */
  amount: number
  method: 'PIX'
  webhookUrl?: string
  externalCode?: string
  metadata?: Record<string, unknown>
  /** Creation. */
  createdAt: string
  status: WithdrawalStatus
  /** Present while it is pending review and not sent: it waits for the operator (approval), or it looks like a recent one and waits for POST /withdrawal/{id}/confirm (duplicate). */
  hold?: WithdrawalHold
  statusHistory: WithdrawalStatusEntry[]
  /** Last change. */
  updatedAt: string
  /** Cents sent. */
  amountWithdrawn?: number
  /** When the bank executed it. */
  processedDate?: string
  /** Why it failed, was rejected or was returned. */
  errorMessage: string | null
  /** EndToEndId of the Pix. */
  endToEnd?: string
  payer?: AccountHolder
  receiver?: AccountHolder
  pixKey?: PixKey
  /** Cents on top of the amount; returned if it is not sent. */
  feeAmount?: number
}

/** The balance. Amounts are in cents. */
export interface Balance {
  /** Cents that may be withdrawn or refunded. */
  available: number
  /** Cents set aside for withdrawals and refunds in progress. */
  reserved: number
  /** Cents set aside while payments are disputed (MED). */
  blocked: number
  /** Cents owed, because the money of a disputed payment was already spent; later payments repay it first. */
  debt: number
  /** The moment of this balance. */
  at: string
}

/** One change of the available balance. Amounts are in cents. */
export interface StatementEntry {
  /** Number of the transfer. */
  id: number
  kind: StatementKind
  /** Cents; negative if it left the available balance. */
  amount: number
  /** The available balance after it, in cents. */
  balance: number
  recordType: 'transaction' | 'refund' | 'infraction' | 'withdrawal' | 'suspense' | 'correction' | 'fee_draw' | 'pay_in' | 'write_off' | 'psp_fee' | 'manual_entry' | 'move_out' | 'move_in'
  /** Identifier of the record that it was posted for. */
  recordId: string
  /** The transaction of that record: GET /transaction/{id} shows the refund, the dispute or the correction. */
  transactionId: string | null
  /** Description of an entry whose recordId cannot be looked up: an entry of the operator (pay_in, manual_entry) or a correction. Null for all others. */
  description: string | null
  /** When it was posted. */
  createdAt: string
}

/** One status change, and the state of its delivery. */
export interface EventSummary {
  /** Identifier of the event: `webhook-id` of its delivery. */
  id: string
  /** Such as transaction.paid. */
  type: string
  recordType: 'transaction' | 'withdrawal'
  /** Identifier of the transaction or withdrawal. */
  recordId: string
  /** Number of this status change of the record, from 1. */
  sequence: number
  /** When it happened. */
  createdAt: string
  /** State of its delivery; null when the record has no webhook URL. */
  delivery: string | null
}

/** One request to your receiver. */
export interface DeliveryAttempt {
  number: number
  /** Start of the attempt. */
  startedAt: string
  durationInMilliseconds: number
  /** HTTP status of the response; null when there was none. */
  status: number | null
  /** Why the attempt failed. */
  error: string | null
  /** The error as a code; null if the HTTP status says enough, or the sentence has details of its own. */
  errorCode: 'no_answer' | 'redirected' | 'gone' | 'address_not_allowed' | 'private_address' | 'connection_refused' | 'connection_closed' | 'connection_timeout' | 'connection_failed' | 'unreachable' | 'name_not_found' | 'name_without_address' | 'name_server_failed' | 'name_server_timeout' | 'head_too_long' | 'certificate_expired' | 'certificate_self_signed' | 'certificate_of_other_name' | 'certificate_without_chain' | 'not_http' | null
}

/** The delivery of an event to your receiver, with its attempts. */
export interface Delivery {
  /** Identifier of the event: `webhook-id`. */
  eventId: string
  type: string
  /** Identifier of the transaction or withdrawal. */
  recordId: string
  sequence: number
  url: string
  /** Waiting: behind an earlier event of its record; pending: to be tried; delivered; exhausted: all attempts failed; gone: the receiver answered 410. */
  state: DeliveryState
  /** When it is tried next. */
  nextAttemptAt: string | null
  /** HTTP status of the last response. */
  lastStatus: number | null
  /** Why the last attempt failed. */
  lastError: string | null
  /** The error as a code; null if the HTTP status says enough, or the sentence has details of its own. */
  lastErrorCode: 'no_answer' | 'redirected' | 'gone' | 'address_not_allowed' | 'private_address' | 'connection_refused' | 'connection_closed' | 'connection_timeout' | 'connection_failed' | 'unreachable' | 'name_not_found' | 'name_without_address' | 'name_server_failed' | 'name_server_timeout' | 'head_too_long' | 'certificate_expired' | 'certificate_self_signed' | 'certificate_of_other_name' | 'certificate_without_chain' | 'not_http' | null
  /** When the event happened. */
  createdAt: string
  /** When it was delivered or given up. */
  finishedAt: string | null
  attempts: DeliveryAttempt[]
}

/** The customer. */
export interface CustomerInput {
  ip?: string
  /** 1 to 255 characters. */
  name: string
  /** CPF or CNPJ, formatted or bare; the alphanumeric CNPJ too. */
  document: string
  /** Up to 254 characters. */
  email: string
  /** Up to 30 characters. */
  landline?: string
  /** Up to 30 characters. */
  mobilePhone?: string
  birthdate?: string
}

/** The seller. */
export interface SellerInput {
  /** 1 to 255 characters. */
  name: string
  /** CPF or CNPJ, formatted or bare; the alphanumeric CNPJ too. */
  document: string
}

/** An item of the purchase. */
export interface ItemInput {
  /** 2 to 150 characters. */
  title: string
  /** 2 to 255 characters. */
  description?: string
  /** Cents; 1 to 10000000. */
  unitPrice: number
  /** 1 to 100; 1 by default. */
  quantity?: number
}

/** The body of a request to create a transaction. */
export interface CreateTransactionBody {
  /** Cents; 1 to 10000000. */
  amount: number
  paymentMethod: 'PIX'
  /** Receives every change; https, a public host, no fragment; up to 2048 characters. */
  webhookUrl?: string
  /** Your reference; need not be unique; 8 to 255 characters. */
  externalCode?: string
  /** Requests with the same key and content return the same transaction; 8 to 255 characters. */
  idempotencyKey?: string
  customer?: CustomerInput
  seller?: SellerInput
  /** Digital product; a physical one needs an address; true by default. */
  isInfoProduct?: boolean
  address?: Address
  items?: ItemInput[]
  /** What is bought, as the payer’s bank shows it after your name; by default the titles of the items; 1 to 140 characters. */
  description?: string
  /** Free-form; up to 8 KiB as JSON, 64 keys in all and 8 levels. */
  metadata?: Record<string, unknown>
  pix: {
    /** Lifetime of the QR code; 60 to 86400; 1800 by default. */
    expirationSeconds?: number
  }
}

/** The answer to a create. */
export interface TransactionCreated {
  /** Identifier of the transaction. */
  id: string
  externalCode?: string
  /** Cents. */
  amount: number
  type: 'TRANSACTION'
  status: 'PIX_QRCODE_GENERATED'
  pixResponse: PixCode
}

/** The page where a customer pays a transaction. */
export interface PaymentLink {
  /** Send the customer here; whoever has the address can see the page. */
  url: string
  /** When its code expires; the page continues to show the state of the payment. Null while there is no code. */
  expiresAt: string | null
}

/** The body of a request to refund a transaction. */
export interface RefundBody {
  /** Cents; up to what is left of the payment, which is also the default; from 1. */
  amount?: number
  /** 2 to 140 characters. */
  reason?: string
  /** Requests with the same key and content return the same refund. May be sent as the header Idempotency-Key; 8 to 255 characters. */
  idempotencyKey: string
}

/** The answer to a refund request. */
export interface RefundCreated {
  /** Identifier of the refund. */
  id: string
  /** The transaction that is refunded. */
  transactionId: string
  /** Cents. */
  amount: number
  type: 'REFUND'
  status: 'PROCESSING'
}

/** The body of a request to create a withdrawal. */
export interface CreateWithdrawalBody {
  /** Cents that the receiver gets; the fee comes on top; 10 to 10000000. */
  amount: number
  method: 'PIX'
  pixKey: PixKey
  /** Receives every change; https, a public host, no fragment; up to 2048 characters. */
  webhookUrl?: string
  /** Your reference; need not be unique; 8 to 255 characters. */
  externalCode?: string
  /** Requests with the same key and content return the same withdrawal. May be sent as the header Idempotency-Key; 8 to 255 characters. */
  idempotencyKey: string
  /** Free-form; up to 8 KiB as JSON, 64 keys in all and 8 levels. */
  metadata?: Record<string, unknown>
}

/** The answer to a withdrawal request. */
export interface WithdrawalCreated {
  /** Identifier of the withdrawal. */
  id: string
  externalCode?: string
  /** Cents. */
  amount: number
  type: 'WITHDRAWAL'
  status: 'PENDING'
  /** Present while it is pending review and not sent: it waits for the operator (approval), or it looks like a recent one and waits for POST /withdrawal/{id}/confirm (duplicate). */
  hold?: WithdrawalHold
}

/** A delivery whose schedule starts again. */
export interface Resent {
  /** Identifier of the event. */
  eventId: string
  state: 'pending' | 'waiting'
}

/** The payer at the simulated bank. Omitted fields get defaults. */
export interface SandboxPayer {
  type?: 'PF' | 'PJ'
  name?: string
  /** CPF or CNPJ, bare. */
  document?: string
  bankAccount?: {
    type?: string
    branch?: string
    number?: string
    digit?: string
    /** ISPB code of the bank. */
    ispb?: string
  }
  pix?: PixKey
}

/** A payment at the simulated bank. */
export interface SandboxPayment {
  /** The copy-and-paste code; 1 to 4096 characters. */
  uri: string
  /** Cents, to pay another amount than the code has; 1 to 999999999999. */
  amount?: number
  payer?: SandboxPayer
  /** The fault to inject; honest: none, whatever the fault profile of the bank. */
  behaviour?: 'honest' | 'without_txid' | 'slow' | 'late' | 'twice' | 'other_amount' | 'other_payer' | 'returned' | 'contested' | 'callback_never' | 'callback_twice' | 'callback_late' | 'callback_forged'
}

/** The payment that was made. */
export interface SandboxPaid {
  endToEndId: string
}

/** A dispute (MED) at the simulated bank. */
export interface SandboxInfraction {
  /** The endToEnd of a paid transaction; 1 to 64 characters. */
  endToEnd: string
  /** Cents; the whole remaining amount by default; 1 to 999999999999. */
  amount?: number
  /** Fraud by default. */
  reason?: 'fraud' | 'operational_failure'
}

/** The opened dispute. */
export interface SandboxDisputed {
  reference: string
}

/** An unannounced return under MED. */
export interface SandboxReturn {
  /** The endToEnd of a paid transaction; 1 to 64 characters. */
  endToEnd: string
  /** Cents; the whole remaining amount by default; 1 to 999999999999. */
  amount?: number
}

/** A withdrawal that is sent back. */
export interface SandboxWithdrawalReturn {
  /** Cents; the whole remaining amount by default; 1 to 999999999999. */
  amount?: number
}

/** The named fault profiles of the simulated bank. */
export type SandboxPersonalityName = 'honest' | 'forgetful' | 'late' | 'careless' | 'forged' | 'quarrelsome' | 'hostile'

/** The faults of the simulated bank, with their probabilities. The probability of each, from 0 to 1. */
export interface SandboxTraits {
  /** 0 to 1. */
  without_txid?: number
  /** 0 to 1. */
  slow?: number
  /** 0 to 1. */
  late?: number
  /** 0 to 1. */
  twice?: number
  /** 0 to 1. */
  other_amount?: number
  /** 0 to 1. */
  other_payer?: number
  /** 0 to 1. */
  returned?: number
  /** 0 to 1. */
  contested?: number
  /** 0 to 1. */
  callback_never?: number
  /** 0 to 1. */
  callback_twice?: number
  /** 0 to 1. */
  callback_late?: number
  /** 0 to 1. */
  callback_forged?: number
  /** 0 to 1. */
  answer_lost?: number
  /** 0 to 1. */
  payout_rejected?: number
  /** 0 to 1. */
  return_rejected?: number
}

/** The fault profile of the simulated bank. */
export interface SandboxPersonality {
  name: SandboxPersonalityName
  /** The same seed has the same effect on the same payments; 0 to 9007199254740991. */
  seed: number
  /** The probability of each, from 0 to 1. */
  traits: SandboxTraits
}

/** A new fault profile for the simulated bank. */
export interface SandboxPersonalityInput {
  name: SandboxPersonalityName
  /** The same seed has the same effect on the same payments; 0 to 9007199254740991. */
  seed?: number
  /** The probability of each, from 0 to 1. */
  traits?: SandboxTraits
}

/** What has come due because time was let pass. */
export interface SandboxAdvanced {
  /** How much time has passed with this call. */
  advancedSeconds: number
  /** How much time has passed with all calls of this merchant. */
  offsetSeconds: number
  /** What has come due. Its effects follow within seconds. */
  due: {
    /** Codes that have expired; from 0. */
    charges: number
    /** Delayed payments that the simulated bank has now shown; from 0. */
    payments: number
    /** Refunds and returns that the simulated bank has now settled; from 0. */
    refunds: number
    /** Withdrawals that the simulated bank has now settled; from 0. */
    withdrawals: number
    /** Disputes that were opened, paid back, or have reached their deadline; from 0. */
    disputes: number
    /** Open withdrawals and refunds whose next check is due; from 0. */
    checks: number
    /** Deliveries whose next attempt is due; from 0. */
    webhooks: number
  }
}

/** Filters of the list of transactions; all must match. */
export interface TransactionFilters {
  /** Created at or after; ISO 8601 with time; UTC if it has no offset. */
  startDate?: string | Date
  /** Created at or before; ISO 8601 with time; UTC if it has no offset. */
  endDate?: string | Date
  /** Any of these; repeat the parameter. */
  status?: TransactionStatus[]
  /** Case does not matter; up to 254 characters. */
  customerEmail?: string
  /** Any part of it; case and accents do not matter; 1 to 255 characters. */
  customerName?: string
  /** CPF or CNPJ, formatted or bare; the alphanumeric CNPJ too. */
  customerDocument?: string
  /** Either phone; only the digits are compared; up to 30 characters. */
  customerPhone?: string
  id?: string
  /** EndToEndId of the Pix; 8 to 255 characters. */
  endToEnd?: string
  /** EndToEndId of a refund; 8 to 255 characters. */
  endToEndRefund?: string
  /** Your reference; 8 to 255 characters. */
  externalCode?: string
  /** Any of these. */
  paymentMethod?: 'PIX'[]
  /** Cents; 1 to 10000000. */
  minAmount?: number
  /** Cents; 1 to 10000000. */
  maxAmount?: number
  /** Page, from 1 (the default); 1 to 1000000000. */
  page?: number
  /** Items per page; 1 to 100; 20 by default. */
  perPage?: number
  /** Instead of `page`: the `nextCursor` of the previous page, with the same filters; 1 to 255 characters. */
  cursor?: string
}

/** Filters of the list of withdrawals; all must match. */
export interface WithdrawalFilters {
  /** Created at or after; ISO 8601 with time; UTC if it has no offset. */
  startDate?: string | Date
  /** Created at or before; ISO 8601 with time; UTC if it has no offset. */
  endDate?: string | Date
  /** Any of these; repeat the parameter. */
  status?: WithdrawalStatus[]
  id?: string
  /** CPF, CNPJ, e-mail, phone or EVP; up to 77 characters. */
  pixKey?: string
  /** EndToEndId of the Pix; 8 to 255 characters. */
  endToEnd?: string
  /** EndToEndId of the return; 8 to 255 characters. */
  endToEndRefund?: string
  /** Your reference; 8 to 255 characters. */
  externalCode?: string
  /** Cents; 10 to 10000000. */
  minAmount?: number
  /** Cents; 10 to 10000000. */
  maxAmount?: number
  /** Page, from 1 (the default); 1 to 1000000000. */
  page?: number
  /** Items per page; 1 to 100; 20 by default. */
  perPage?: number
  /** Instead of `page`: the `nextCursor` of the previous page, with the same filters; 1 to 255 characters. */
  cursor?: string
}

/** Filters of the statement; all must match. */
export interface StatementFilters {
  /** Posted at or after; ISO 8601 with time; UTC if it has no offset. */
  startDate?: string | Date
  /** Posted at or before; ISO 8601 with time; UTC if it has no offset. */
  endDate?: string | Date
  /** Any of these; repeat the parameter. */
  kind?: StatementKind[]
  /** Page, from 1 (the default); 1 to 1000000000. */
  page?: number
  /** Items per page; 1 to 100; 20 by default. */
  perPage?: number
  /** Instead of `page`: the `nextCursor` of the previous page, with the same filters; 1 to 255 characters. */
  cursor?: string
}

/** The page of a list of events. */
export interface EventFilters {
  /** Page, from 1 (the default); 1 to 1000000000. */
  page?: number
  /** Items per page; 1 to 100; 20 by default. */
  perPage?: number
  /** Instead of `page`: the `nextCursor` of the previous page, with the same filters; 1 to 255 characters. */
  cursor?: string
}

/** What selects events: of the feed with `after`, else of the list. */
export interface EventQuery {
  /** Read the feed after this position: `start`, `end`, or a `next` or `position` that you saved. */
  after?: string
  /** Events per page of the feed; 100 by default; 1 to 100. */
  limit?: number
  /** Wait up to this many seconds for an event, if the feed has none after the position; 0 to 20. */
  wait?: number
  /** Only events of these types; repeat the parameter. */
  type?: ('transaction.pix_qrcode_generated' | 'transaction.paid' | 'transaction.processing_refund' | 'transaction.processing_infraction' | 'transaction.refunded' | 'transaction.infraction' | 'transaction.failed' | 'transaction.blocked' | 'withdrawal.processing' | 'withdrawal.processed' | 'withdrawal.failed' | 'withdrawal.canceled' | 'withdrawal.refunded' | 'withdrawal.rejected')[]
  /** Only events of this transaction or withdrawal. */
  recordId?: string
  /** Only events that happened at or after; ISO 8601 with time; UTC if it has no offset. */
  startDate?: string | Date
  /** Page, from 1 (the default); 1 to 1000000000. */
  page?: number
  /** Instead of `page`: the `nextCursor` of the previous page, with the same filters; 1 to 255 characters. */
  cursor?: string
  /** Items per page of the list; 20 by default; 1 to 100. */
  perPage?: number
}

/** Filters of the list of deliveries; all must match. */
export interface DeliveryFilters {
  state?: DeliveryState
  /** Only deliveries of this transaction or withdrawal. */
  recordId?: string
  /** Only the delivery of this event. */
  eventId?: string
  /** Page, from 1 (the default); 1 to 1000000000. */
  page?: number
  /** Items per page; 1 to 100; 20 by default. */
  perPage?: number
  /** Instead of `page`: the `nextCursor` of the previous page, with the same filters; 1 to 255 characters. */
  cursor?: string
}

/** The time of the balance. */
export interface BalanceQuery {
  /** The balance at this moment; now by default; ISO 8601 with time; UTC if it has no offset. */
  at?: string | Date
}

/** One error of a request; `field` is a path such as `items[0].unitPrice`. */
export interface FieldError {
  field: string
  code: string
  message: string
  /** The smallest or largest value that is allowed. */
  limit?: number
  /** Of a limit that is no plain number and counts no characters or items. */
  unit?: 'cents' | 'bytes'
  /** The record that the error is about, if the address does not name it. */
  recordId?: string
}

/** The body of an error (RFC 9457). */
export interface Problem {
  type: string
  title: string
  status: number
  /** What happened and what to do next. */
  detail: string
  /** Stable, in snake case. Programs compare this field. */
  code: string
  requestId: string
  /** Every error of the request. */
  errors?: FieldError[]
}
