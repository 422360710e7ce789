import { byService } from '../audit/record.ts'
import type { Tx } from '../db/sql.ts'
import { freezePayoutsAlso, writeMoneyLeftReason } from '../ledger/payout-freeze.ts'
import { canonicalJson } from '../lib/json.ts'
import { newUuid } from '../lib/secrets.ts'
import { type Found, toCompared } from './classes.ts'
import { type DiscrepancyRow, findLatest, lockDiscrepancies, saveDiscrepancies, type ToSave } from './store.ts'

type Saving = { acquirer: string; runId: string; startedAt: Date; now: Date }

/**
 * Stores what a run has found: each discrepancy once, however often it is found and by however many runs at once.
 * Returns the ids of all, and how many were new or reopened. If more money left than the ledger has, payouts freeze in
 * the same commit.
 */
export async function saveFound(tx: Tx, found: Found[], saving: Saving): Promise<{ ids: string[]; newCount: number }> {
  const { acquirer, now } = saving
  if (found.length === 0) return { ids: [], newCount: 0 }
  await lockDiscrepancies(tx, acquirer)
  const known = new Map((await findLatest(tx, acquirer, found)).map((row) => [toKey(row), row]))
  const kept = found.map((one) => ({ one, ...keep(one, known.get(toKey(one)), saving) }))
  await saveDiscrepancies(
    tx,
    kept.map(({ row }) => row),
  )
  const alarms = kept.flatMap(({ one, isNew, hasChanged }) =>
    (isNew || hasChanged) && one.alarm !== null ? [one.alarm] : [],
  )
  const [alarm] = alarms
  if (alarm)
    await freezePayoutsAlso(tx, {
      reason: writeMoneyLeftReason(acquirer, alarm, alarms.length),
      by: byService,
      now,
    })
  return { ids: kept.map(({ row }) => row.id), newCount: kept.filter(({ isNew }) => isNew).length }
}

/** `hasChanged`: it was open before, with other amounts or states. */
type Kept = { row: ToSave; isNew: boolean; hasChanged?: boolean }

function keep(found: Found, last: DiscrepancyRow | undefined, saving: Saving): Kept {
  const { acquirer, runId, startedAt, now } = saving
  const row: ToSave = {
    id: newUuid(),
    acquirer,
    class: found.class,
    subject: found.subject,
    reference: found.reference,
    sequence: 1,
    merchant_id: found.merchantId,
    record_id: found.recordId,
    at: found.at,
    is_timing: found.isTiming,
    at_acquirer: found.atAcquirer,
    in_ledger: found.inLedger,
    proposal: found.proposal,
    state: 'open',
    run_id: runId,
    found_at: now,
  }
  if (!last) return { row, isNew: true }
  const again = { ...row, id: last.id, sequence: last.sequence, found_at: last.found_at }
  // Decided after the run began: the run's data may be older than the decision, which stands.
  if (last.decided_at && last.decided_at > startedAt) return { row: { ...again, state: last.state }, isNew: false }
  // The comparison included the correction: what it still finds is a new discrepancy, with its own correction.
  if (last.state === 'confirmed' && last.proposal.action === 'correct')
    return { row: { ...row, sequence: last.sequence + 1 }, isNew: true }
  if (last.state === 'open') return { row: again, isNew: false, hasChanged: !isUnchanged(last, found) }
  // To confirm an entry that cannot be read does not make it readable: the acquirer's list still has it.
  const isDecided = last.state === 'dismissed' || (last.state === 'confirmed' && last.class === 'unreadable')
  // What was decided stays closed until it changes; anything else only if just the days differ now.
  const isSettled = isDecided ? isUnchanged(last, found) : found.isTiming
  return isSettled ? { row: { ...again, state: last.state }, isNew: false } : { row: again, isNew: true }
}

function isUnchanged(last: DiscrepancyRow, { atAcquirer, inLedger, proposal }: Found): boolean {
  const before = [toCompared(last.at_acquirer), last.in_ledger, last.proposal]
  return canonicalJson(before) === canonicalJson([toCompared(atAcquirer), inLedger, proposal])
}

function toKey(found: Pick<Found, 'class' | 'subject' | 'reference'>): string {
  return `${found.class} ${found.subject} ${found.reference}`
}
