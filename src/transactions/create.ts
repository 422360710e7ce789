import type { Acquirers } from '../acquirers/registry.ts'
import type { By } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import { idempotencyKeyReused } from '../http/idempotency-key.ts'
import { assert } from '../lib/assert.ts'
import { cellOfId, newIdIn } from '../lib/cell.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import { canonicalJson } from '../lib/json.ts'
import { cents } from '../lib/money.ts'
import { phoneDigits } from '../lib/phone.ts'
import { keyedHash, type SecretKey } from '../lib/secrets.ts'
import { databaseSpan, inSpan, rememberTrace } from '../lib/spans.ts'
import { toSearchText } from '../lib/text.ts'
import { toTxid } from '../pix/ids.ts'
import { expiryGraceMs } from './check.ts'
import {
  contentOf,
  differingFields,
  type TransactionContent,
  toChargeTexts,
  toContent,
  toNormalForm,
} from './content.ts'
import { insertBy } from './insert.ts'
import { type Answered, requestCharge } from './request-charge.ts'
import type { CreateTransactionInput } from './schema.ts'
import { failureCodeOf } from './status.ts'
import { findTransactionByKey, type KeyedTransaction, type NewTransaction, type TransactionRow } from './store.ts'
import { type TransactionCreatedResponse, toTransactionCreatedView } from './view.ts'

/** How soon the acquirer is queried again about a charge with an unknown outcome. */
const recheckMs = 5_000

export type CreateDeps = {
  db: Db
  clock: Clock
  key: SecretKey
  acquirers: Acquirers
  /** False when the transaction exists already, under its idempotency key or id. */
  insertTransaction: (transaction: NewTransaction) => Promise<boolean>
  /** The address of a transaction's payment page, which nobody can guess. */
  paymentUrlOf: (id: string) => string
  wakeDeliveries: () => void
}

/** The row, and the response made from it, of the first request with its key. */
export type Created = { row: NewTransaction | TransactionRow; view: TransactionCreatedResponse; isReplay: boolean }

/**
 * Creates a transaction: requests a charge from an acquirer under our own txid, then commits row, history and event
 * together.
 *
 * @throws {AppError} `merchant_moved`, `idempotency_key_reused`, `acquirer_refused`, or `acquirer_unavailable` when the
 *   outcome is not known yet
 */
export async function createTransaction(
  deps: CreateDeps,
  {
    merchantId,
    clientId,
    merchantName,
    movedToAddress,
    by,
    input,
  }: {
    merchantId: string
    clientId: string
    merchantName: string
    /** Where the merchant's new charges are created, if it has moved to another installation. */
    movedToAddress: string | null
    by: By | null
    input: CreateTransactionInput
  },
): Promise<Created> {
  const content = toContent(input)
  const idempotencyKey = input.idempotencyKey ?? null
  if (movedToAddress !== null) return await replayOnly(deps, { merchantId, idempotencyKey, content, movedToAddress })
  const createdAt = deps.clock.now()
  const id = toId(deps, merchantId, idempotencyKey, content)
  const acquirers = deps.acquirers.forCharge({ clientId, amount: content.amount, now: createdAt, id })
  // A request to a remote acquirer takes long: a key that was used already needs none.
  if (idempotencyKey !== null && acquirers.some(({ isRemote }) => isRemote)) {
    const first = await findTransactionByKey(deps.db, merchantId, idempotencyKey)
    if (first) return replay(deps, first, content)
  }

  const answered = await requestCharge(acquirers, {
    txid: toTxid(id),
    amount: cents(content.amount),
    expiresInSeconds: content.pix.expirationSeconds,
    texts: toChargeTexts(merchantName, content),
  })
  const row = toRow({ id, merchantId, content, idempotencyKey, createdAt }, answered, deps.clock.now())
  const [isNew, view] = await Promise.all([
    by
      ? insertBy(deps, { row, by })
      : // Other requests share the commit. The span includes the wait for the commit before it.
        inSpan('database commit', databaseSpan, async () => await deps.insertTransaction(row)),
    drawMeanwhile(deps, row),
  ])
  // Without a key the id is random, so a row that exists already is this one: its batch was committed and then retried.
  if (!isNew && idempotencyKey !== null) {
    const first = await findTransactionByKey(deps.db, merchantId, idempotencyKey)
    assert(first, 'the transaction that a request conflicts with exists')
    return replay(deps, first, content)
  }
  rememberTrace(row.id)
  if (view === null) throw withoutCode(row)
  return { row, view, isReplay: false }
}

/** A merchant that has moved creates nothing new. A repeated request still gets its first response. */
async function replayOnly(
  deps: Pick<CreateDeps, 'db' | 'paymentUrlOf'>,
  request: { merchantId: string; idempotencyKey: string | null; content: TransactionContent; movedToAddress: string },
): Promise<Created> {
  const { merchantId, idempotencyKey, content, movedToAddress } = request
  const first = idempotencyKey === null ? null : await findTransactionByKey(deps.db, merchantId, idempotencyKey)
  if (first) return replay(deps, first, content)
  throw new AppError('merchant_moved', {
    detail: `New charges of this merchant are created at ${movedToAddress}, with its credentials there. Existing transactions stay here.`,
    members: { address: movedToAddress },
  })
}

/** Builds the response with its QR image after the statement was sent: it is drawn while PostgreSQL works. */
async function drawMeanwhile(
  { paymentUrlOf }: Pick<CreateDeps, 'paymentUrlOf'>,
  row: NewTransaction,
): Promise<TransactionCreatedResponse | null> {
  if (row.pix_uri === null) return null
  await new Promise(setImmediate)
  return toTransactionCreatedView(row, paymentUrlOf(row.id))
}

type OutcomeColumns = Pick<
  NewTransaction,
  'id' | 'idempotency_key' | 'pix_uri' | 'pix_expires_at' | 'statuses' | 'status_dates' | 'error_message' | 'check_at'
>

function toOutcomeColumns(
  { id, idempotencyKey, createdAt }: ChargeRequest,
  { outcome }: Answered,
  now: Date,
): OutcomeColumns {
  switch (outcome.kind) {
    case 'created':
      return {
        id,
        idempotency_key: idempotencyKey,
        pix_uri: outcome.charge.uri,
        pix_expires_at: outcome.charge.expiresAt,
        statuses: ['PENDING', 'PIX_QRCODE_GENERATED'],
        status_dates: [createdAt, now],
        error_message: null,
        check_at: new Date(outcome.charge.expiresAt.getTime() + expiryGraceMs),
      }
    case 'unknown':
      return {
        id,
        idempotency_key: idempotencyKey,
        pix_uri: null,
        pix_expires_at: null,
        statuses: ['PENDING'],
        status_dates: [createdAt],
        error_message: null,
        check_at: new Date(now.getTime() + recheckMs),
      }
    case 'refused':
      return {
        // A refused request uses up no key: the same key may be used again, and would derive the same id.
        id: newIdIn(cellOfId(id)),
        idempotency_key: null,
        pix_uri: null,
        pix_expires_at: null,
        statuses: ['PENDING', 'FAILED'],
        status_dates: [createdAt, now],
        error_message: outcome.reason,
        check_at: null,
      }
  }
}

/**
 * A random id; or, with an idempotency key, the same id for every retry of the same request, so that the acquirer's
 * charge is the same too.
 */
function toId(
  { key, acquirers: { cell } }: Pick<CreateDeps, 'key' | 'acquirers'>,
  merchantId: string,
  idempotencyKey: string | null,
  content: TransactionContent,
): string {
  if (idempotencyKey === null) return newIdIn(cell)
  // The order of the fields is fixed, except in the merchant's metadata.
  const normal = { ...toNormalForm(content), metadata: canonicalJson(content.metadata) }
  return newIdIn(cell, keyedHash(key, 'transaction-id', JSON.stringify([merchantId, idempotencyKey, normal])))
}

type ChargeRequest = {
  id: string
  merchantId: string
  content: TransactionContent
  idempotencyKey: string | null
  createdAt: Date
}

/** Every field by its name: spreading one object into another takes as long as encoding the BR Code. */
function toRow(request: ChargeRequest, answered: Answered, now: Date): NewTransaction {
  const { merchantId, content, createdAt } = request
  const { customer } = content
  const outcome = toOutcomeColumns(request, answered, now)
  return {
    id: outcome.id,
    merchant_id: merchantId,
    acquirer: answered.acquirer,
    other_acquirers: answered.others,
    amount: content.amount,
    idempotency_key: outcome.idempotency_key,
    external_code: content.externalCode,
    webhook_url: content.webhookUrl,
    return_url: content.returnUrl,
    is_info_product: content.isInfoProduct,
    customer,
    seller: content.seller,
    address: content.address,
    items: content.items,
    description: content.description,
    metadata: content.metadata,
    pix_expiration_seconds: content.pix.expirationSeconds,
    created_at: createdAt,
    customer_search_name: customer ? toSearchText(customer.name) : null,
    customer_search_email: customer ? customer.email.toLowerCase() : null,
    customer_document: customer ? customer.document.value : null,
    customer_landline_digits: customer?.landline ? phoneDigits(customer.landline) : null,
    customer_mobile_digits: customer?.mobilePhone ? phoneDigits(customer.mobilePhone) : null,
    pix_uri: outcome.pix_uri,
    pix_expires_at: outcome.pix_expires_at,
    statuses: outcome.statuses,
    status_dates: outcome.status_dates,
    error_message: outcome.error_message,
    check_at: outcome.check_at,
  }
}

/** The fields that are null once a person was erased. The persons of a transaction are erased separately. */
const erasable = ['customer', 'seller', 'address', 'returnUrl', 'description', 'metadata'] as const

/**
 * The response that the first request with this key got, or would get by now; or an error when its content was
 * different.
 */
function replay(
  { paymentUrlOf }: Pick<CreateDeps, 'paymentUrlOf'>,
  first: KeyedTransaction,
  content: TransactionContent,
): Created {
  const stored = contentOf(first)
  // Of an erased field nobody can say whether it was the same.
  const erased = erasable.filter((name) => first.erased_at !== null && stored[name] === null)
  const fields = differingFields(stored, content).filter(
    (field) => !erased.some((name) => name === field.split('.')[0]),
  )
  if (fields.length > 0) throw idempotencyKeyReused(fields, 'transaction')
  if (first.pix_uri === null) throw withoutCode(first)
  return { row: first, view: toTransactionCreatedView(first, paymentUrlOf(first.id)), isReplay: true }
}

function withoutCode(row: NewTransaction | TransactionRow): AppError {
  if (row.statuses.at(-1) === 'PENDING') {
    return new AppError('acquirer_unavailable', {
      detail:
        'The acquirer did not answer in time, so it is not known yet whether the charge exists. The transaction is kept and will be resolved: fetch it later, or repeat the request with the same idempotency key.',
      members: { transactionId: row.id },
    })
  }
  if (row.statuses.at(-1) !== 'FAILED') {
    return new AppError('acquirer_unavailable', {
      detail:
        'The charge was paid before its code was known, and the acquirer does not show the code. Repeating the request does not help: fetch the transaction by its id, transactionId.',
      members: { transactionId: row.id },
    })
  }
  const { error_message: reason, idempotency_key: usedKey } = row
  const isRefused = failureCodeOf({ status: 'FAILED', error_message: reason }) === 'refused'
  return new AppError('acquirer_refused', {
    detail: isRefused
      ? // A refusal that came after `acquirer_unavailable`: this transaction keeps the key, and its id.
        `The acquirer refused the charge: ${reason ?? 'it gave no reason'}${usedKey === null ? '' : '. To try again, use another idempotency key.'}`
      : `The transaction has failed: ${reason}. Create another one, with another idempotency key.`,
    members: { transactionId: row.id },
  })
}
