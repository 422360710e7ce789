import { randomUUID } from 'node:crypto'
import type pg from 'pg'
import type { Cents } from '../src/lib/money.ts'
import { newReturnId } from '../src/pix/ids.ts'
import { type ControlOutcome, refused } from './control.ts'
import {
  type DisputeReason,
  type DisputeRow,
  findOpenDispute,
  hasOpenDispute,
  insertDispute,
  lockDispute,
  updateDispute,
} from './disputes-store.ts'
import type { Network } from './network.ts'
import { receiverAccount } from './receiver-account.ts'
import { notifyOfReturn } from './returns.ts'
import { insertReturnIn, lockPix, type ReturnNature, type ReturnRow, sumOfMedReturns } from './returns-store.ts'
import { inTransaction } from './transaction.ts'

export type DisputeInput = {
  endToEndId: string
  /** The whole payment by default. */
  amount?: Cents
  /** Fraud by default. It determines the nature of the return. */
  reason?: DisputeReason
}

export type DisputeDecision = { reference: string; decision: 'accept' | 'reject' | 'cancel' }

/** MED allows a payer to dispute a payment within 80 days. */
export const disputeWindowDays = 80
/**
 * The delay between the acceptance of a dispute and the return, by the simulator's clock, so that a client can observe
 * the state in between.
 */
export const returnAfterAcceptanceMs = 1000

/**
 * Opens a dispute as the payer's bank would. With a future `openedAt` it is not shown until then, but already prevents
 * a second one. The result's id is the dispute's.
 */
export function openDispute(
  network: Network,
  input: DisputeInput,
  openedAt = network.clock.now(),
): Promise<ControlOutcome> {
  return inTransaction(network.pool, async (client) => {
    const pix = await lockPix(client, { endToEndId: input.endToEndId, now: openedAt })
    if (!pix) return refused('payment_unknown')
    const amount = input.amount ?? pix.amount
    if (amount < 1 || amount > pix.amount) return refused('amount_invalid')
    if (openedAt.getTime() - pix.paidAt.getTime() > disputeWindowDays * 86_400_000) return refused('too_late')
    if (await hasOpenDispute(client, input.endToEndId)) return refused('already_open')
    const id = randomUUID()
    const { endToEndId, reason = 'fraud' } = input
    await insertDispute(client, { id, endToEndId, amount, reason, openedAt })
    return { ok: true, id }
  })
}

/**
 * Decides an open dispute, by its own id or by the payment's. If accepted, the disputed amount goes back to the payer,
 * less what was returned under MED since the dispute was opened, and at most what is left. Refused if nothing is left.
 */
export async function decideDispute(
  network: Network,
  { reference, decision }: DisputeDecision,
): Promise<ControlOutcome> {
  const changedAt = network.clock.now()
  const id = uuidShape.test(reference) ? reference : await findOpenDispute(network.pool, reference, changedAt)
  if (id === null) return refused('infraction_unknown')
  const decided = await inTransaction(network.pool, async (client) => {
    const dispute = await lockDispute(client, id)
    if (!dispute) return refused('infraction_unknown')
    if (dispute.state !== 'open') return refused('not_open')
    if (decision === 'accept') return accept(client, dispute, changedAt)
    const state = decision === 'reject' ? 'rejected' : 'canceled'
    await updateDispute(client, { id, state, changedAt, returnSettlesAt: null })
    return null
  })
  if (decided && 'ok' in decided) return decided
  if (decided) notifyOfReturn(network, decided)
  return { ok: true, id }
}

/**
 * A return under MED without a dispute before it, as at a PSP with only the standard API Pix, which has no disputes.
 * The result's id is the return's.
 */
export async function returnUnannounced(
  network: Network,
  { endToEndId, amount }: { endToEndId: string; amount?: Cents },
): Promise<ControlOutcome> {
  const now = network.clock.now()
  const outcome = await inTransaction(network.pool, async (client) => {
    const pix = await lockPix(client, { endToEndId, now })
    if (!pix) return refused('payment_unknown')
    if (pix.left === 0) return refused('nothing_left')
    const returned = amount ?? pix.left
    if (returned < 1 || returned > pix.left) return refused('amount_invalid')
    return insertOwnReturn(client, { endToEndId, amount: returned, nature: 'MED_FRAUDE', at: now, settlesAt: now })
  })
  if ('ok' in outcome) return outcome
  notifyOfReturn(network, outcome)
  return { ok: true, id: outcome.returnId }
}

async function accept(client: pg.PoolClient, dispute: DisputeRow, at: Date) {
  const { id, endToEndId, reason } = dispute
  const pix = await lockPix(client, { endToEndId, now: at })
  if (!pix || pix.left === 0) return refused('nothing_left')
  const before = await sumOfMedReturns(client, { endToEndId, since: dispute.openedAt })
  const amount = Math.min(dispute.amount - before, pix.left)
  if (amount <= 0) {
    await updateDispute(client, { id, state: 'accepted', changedAt: at, returnSettlesAt: null })
    return null
  }
  const settlesAt = new Date(at.getTime() + returnAfterAcceptanceMs)
  await updateDispute(client, { id, state: 'accepted', changedAt: at, returnSettlesAt: settlesAt })
  return insertOwnReturn(client, { endToEndId, amount, nature: natures[reason], at, settlesAt })
}

/** A return that this PSP makes on its own. */
export async function insertOwnReturn(
  client: pg.PoolClient,
  input: { endToEndId: string; amount: number; nature: ReturnNature; at: Date; settlesAt: Date },
): Promise<ReturnRow> {
  const { at, settlesAt, ...others } = input
  const row: ReturnRow = {
    ...others,
    // The PSP chose this id, because it made the return.
    id: randomUUID().replaceAll('-', ''),
    returnId: newReturnId({ ispb: receiverAccount.bankAccount.ispb, at }),
    description: null,
    requestedAt: at,
    settlesAt,
    rejection: null,
  }
  await insertReturnIn(client, row)
  return row
}

const natures = { fraud: 'MED_FRAUDE', operational_failure: 'MED_OPERACIONAL' } as const

const uuidShape = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i
