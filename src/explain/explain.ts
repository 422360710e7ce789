import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import type { LinkName } from '../links/store.ts'
import { toEnglish } from './english.ts'
import { type Facts, findFacts, type IsConfigured } from './facts.ts'
import type { Sentence } from './sentences.ts'
import { type Statement, toStatement } from './statement.ts'
import { type TimelineEntry, toTimeline } from './timeline.ts'
import { describeTransaction } from './transaction.ts'
import { describeWithdrawal } from './withdrawal.ts'

/** The explanation of a record. `Moment` is Date here, and string after a JSON round trip. */
export type Explanation<Moment = Date> = {
  id: string
  type: 'transaction' | 'withdrawal'
  status: string
  /** In cents. */
  amount: number
  merchantId: string
  clientId: string
  /**
   * Of a transaction: the acquirer of the QR code, and after the payment the one that holds the money. Of a withdrawal:
   * the one that sends it.
   */
  acquirer: string
  /**
   * Other acquirers from which the charge was requested; a payment may arrive there as well. Empty for a withdrawal.
   */
  otherAcquirers: string[]
  endToEnd: string | null
  /** The payment link by which the transaction was created. */
  link: LinkName | null
  /** What it added to the merchant's balance or took from it. Null if nothing was posted. */
  statement: Statement | null
  timeline: TimelineEntry<Moment>[]
  /** The current status and its reason, what happens next, duplicate payments, and the delivery of the webhook. */
  sentences: Sentence<Moment>[]
  /** The status, then the sentences in English, with times in UTC. */
  summary: string
}

/**
 * The timeline of a transaction or a withdrawal, and sentences that explain its current status. Reads only, and
 * includes no data of the payer or the customer. Null if there is no such record.
 * @param isForMerchant merchant users see that the operator acted, but not which operator user, nor their notes (except
 *   the reason for rejecting a withdrawal), nor why payouts are frozen
 */
export async function explainRecord(
  deps: { db: Db; clock: Clock; isConfigured?: IsConfigured },
  id: string,
  { isForMerchant = false }: { isForMerchant?: boolean } = {},
): Promise<Explanation | null> {
  const facts = await findFacts(deps, id, deps.clock.now())
  if (!facts) return null
  const { record, now } = facts
  const payoutFreeze = facts.payoutFreeze && { ...facts.payoutFreeze, ...(isForMerchant && { reason: '' }) }
  const sentences = describeRecord({ ...facts, payoutFreeze })
  return {
    id: record.id,
    type: record.type,
    status: record.status,
    amount: record.amount,
    merchantId: record.merchant_id,
    clientId: record.client_id,
    acquirer: record.acquirer,
    otherAcquirers: record.other_acquirers,
    endToEnd: record.end_to_end,
    link: facts.link,
    statement: toStatement(facts.transfers),
    timeline: toTimeline(facts, isForMerchant),
    sentences,
    summary: `${record.status}: ${toEnglish(sentences, now)}`,
  }
}

function describeRecord(facts: Facts): Sentence[] {
  const { record } = facts
  return record.type === 'transaction'
    ? describeTransaction({ ...facts, record })
    : describeWithdrawal({ ...facts, record })
}
