import type { Acquirers } from '../acquirers/registry.ts'
import { type By, recordAction } from '../audit/record.ts'
import type { Db, Tx } from '../db/sql.ts'
import { idempotencyKeyReused } from '../http/idempotency-key.ts'
import { findPayableBalances } from '../ledger/clearing-store.ts'
import { feeFor } from '../ledger/fees.ts'
import { assertPayoutsAllowed } from '../ledger/payout-freeze.ts'
import { insufficientBalance, post } from '../ledger/post.ts'
import { findBalances, lockBalances } from '../ledger/store.ts'
import { reserved } from '../ledger/transfers.ts'
import { assert } from '../lib/assert.ts'
import { newIdIn } from '../lib/cell.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import { differingPaths } from '../lib/json.ts'
import { rememberTrace } from '../lib/spans.ts'
import { contentOf, toContent, type WithdrawalContent } from './content.ts'
import { judgeWithdrawal } from './limits.ts'
import type { CreateWithdrawalInput } from './schema.ts'
import { enqueueSend } from './send.ts'
import { findWithdrawalByKey, insertWithdrawal, type WithdrawalRow } from './store.ts'

/**
 * How long after its creation or release a withdrawal is first checked. Normally a queued job has sent it by then; the
 * check sends it if that job was lost or payouts were frozen.
 */
export const firstCheckMs = 15_000

export type CreateWithdrawalDeps = { db: Db; clock: Clock; acquirers: Acquirers }

export type CreateWithdrawal = {
  merchantId: string
  clientId: string
  by: By | null
  input: CreateWithdrawalInput
}

/**
 * What the response is made from. For a repeated idempotency key, `row` is the withdrawal that the first request
 * created.
 */
export type CreatedWithdrawal = { row: WithdrawalRow; isReplay: boolean }

/**
 * Creates a withdrawal: the row, the reserved amount and fee, and the job that sends it, in one commit. Nothing is
 * sent before that commit. A withdrawal that is pending review gets its job only when it is confirmed or approved.
 *
 * @throws {AppError} `idempotency_key_reused`, `payouts_stopped`, `withdrawal_not_possible` or
 *   `insufficient_balance`: nothing is stored
 */
export async function createWithdrawal(
  deps: CreateWithdrawalDeps,
  { merchantId, clientId, by, input }: CreateWithdrawal,
): Promise<CreatedWithdrawal> {
  const content = toContent(input)
  const { idempotencyKey } = input
  const id = newIdIn(deps.acquirers.cell)
  const created = await deps.db.transaction(async (tx) => {
    // Lock first: concurrent requests of a merchant then run one after another, and a later one finds its key used here
    // instead of failing on insert.
    await lockBalances(tx, [merchantId])
    const first = await findWithdrawalByKey(tx, merchantId, idempotencyKey)
    if (first) return replay(first, content)
    await assertPayoutsAllowed(tx)
    const now = deps.clock.now()
    const { amount } = content
    assertPaysOut(deps.acquirers)
    const payable = await findPayableBalances(tx)
    const coversAmount = (name: string) => (payable.get(name) ?? 0) >= amount
    // The withdrawal stays with this acquirer: only this one can report the outcome, so no other is ever asked
    // to send it.
    const acquirer = deps.acquirers.forWithdrawal({ clientId, amount, now, id, coversAmount })
    if (!acquirer) throw await noAccountCovers(tx, { merchantId, amount, now })
    const row = await reserve(tx, {
      ...{ id, merchantId, requestedBy: by?.actor ?? null, idempotencyKey, content, now },
      acquirer: acquirer.name,
    })
    if (row.review_reason === null) await enqueueSend(tx, row)
    const details = { amount, pixKeyType: row.pix_key_type, hold: row.review_reason }
    await recordAction(tx, { by, action: 'withdrawal.create', merchantId, recordId: id, details, now })
    return { row, isReplay: false }
  })
  if (!created.isReplay) rememberTrace(id)
  return created
}

/** The response that the first request with this key got; or an error when its content was different. */
function replay(first: WithdrawalRow, content: WithdrawalContent): CreatedWithdrawal {
  const isErased = first.pix_key.startsWith('hash:')
  const fields = differingPaths(contentOf(first), content).filter(
    // For erased fields nobody can say whether they were the same.
    (field) => !isErased || !/^(pixKey|metadata)\b/.test(field),
  )
  if (fields.length > 0) throw idempotencyKeyReused(fields, 'withdrawal')
  return { row: first, isReplay: true }
}

function assertPaysOut({ hasPayouts }: Acquirers): void {
  if (hasPayouts) return
  const message = 'is not available: no configured acquirer sends payouts'
  throw new AppError('withdrawal_not_possible', {
    detail: `method ${message}.`,
    fields: [{ field: 'method', code: 'not_offered', message }],
  })
}

/**
 * The error when no payout account covers the amount; if the merchant's own balance is too low as well, that one is
 * reported instead.
 */
async function noAccountCovers(
  tx: Tx,
  { merchantId, amount, now }: { merchantId: string; amount: number; now: Date },
): Promise<AppError> {
  const fee = await feeFor(tx, { merchantId, operation: 'withdrawal', amount, now })
  const { available } = await findBalances(tx, merchantId)
  if (available < amount + fee) return insufficientBalance()
  const message =
    'is more than any payout account has free at the moment, after the withdrawals not yet sent: the operator has to move money there first'
  return new AppError('withdrawal_not_possible', {
    detail: `amount ${message}.`,
    fields: [{ field: 'amount', code: 'more_than_payout_account', message }],
  })
}

type Request = {
  id: string
  merchantId: string
  requestedBy: string | null
  idempotencyKey: string
  content: WithdrawalContent
  acquirer: string
  now: Date
}

async function reserve(tx: Tx, request: Request): Promise<WithdrawalRow> {
  const { id, merchantId, requestedBy, idempotencyKey, content, acquirer, now } = request
  const { amount, pixKey } = content
  const reviewReason = await judgeWithdrawal(tx, { merchantId, amount, pixKey: pixKey.key, requestedBy, now })
  const fee = await feeFor(tx, { merchantId, operation: 'withdrawal', amount, now })
  const row = await insertWithdrawal(tx, {
    id,
    merchant_id: merchantId,
    acquirer,
    amount,
    fee_amount: fee,
    idempotency_key: idempotencyKey,
    external_code: content.externalCode,
    webhook_url: content.webhookUrl,
    pix_key: pixKey.key,
    pix_key_type: pixKey.type,
    metadata: content.metadata,
    created_at: now,
    requested_by: requestedBy,
    initial_review_reason: reviewReason,
    check_at: reviewReason === null ? new Date(now.getTime() + firstCheckMs) : null,
  })
  assert(row, 'an inserted withdrawal exists')
  await post(tx, {
    merchantId,
    eventKey: `withdrawal:${row.id}:reserved`,
    recordType: 'withdrawal',
    recordId: row.id,
    acquirer: row.acquirer,
    now,
    transfers: reserved('withdrawal_reserved', amount, fee),
  })
  return row
}
