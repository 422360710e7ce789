import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { toEnglish } from './english.ts'
import { type Facts, findFacts, type IsConfigured } from './facts.ts'
import type { Sentence } from './sentences.ts'
import { type TimelineEntry, toTimeline } from './timeline.ts'
import { describeTransaction } from './transaction.ts'
import { describeWithdrawal } from './withdrawal.ts'

export type Explanation = {
  id: string
  type: 'transaction' | 'withdrawal'
  status: string
  /** Cents. */
  amount: number
  merchantId: string
  clientId: string
  /** Whose code it has; once it is paid, who holds the money. */
  acquirer: string
  /** Who was asked for the charge besides, and may be paid as well. */
  otherAcquirers: string[]
  endToEnd: string | null
  timeline: TimelineEntry[]
  /** Where it is and why, and what happens next. */
  sentences: Sentence[]
  /** The same in English, with times in UTC. */
  summary: string
}

/**
 * All that happened to a transaction or a withdrawal as one timeline, and a sentence that makes sense of it. It only reads, and nothing in it
 * is about the payer or the customer. Null when there is no such record.
 *
 * @param isForMerchant a merchant's people read what the operator did, and not which of its people did it, nor their notes
 */
export async function explainRecord(
  deps: { db: Db; clock: Clock; isConfigured?: IsConfigured },
  id: string,
  { isForMerchant = false }: { isForMerchant?: boolean } = {},
): Promise<Explanation | null> {
  const facts = await findFacts(deps, id, deps.clock.now())
  if (!facts) return null
  const { record, now } = facts
  const sentences = describeRecord(facts)
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
