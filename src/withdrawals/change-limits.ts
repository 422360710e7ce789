import { type By, recordAction } from '../audit/record.ts'
import type { Db, Tx } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import type { ProposalKind } from '../proposals/decide.ts'
import { propose } from '../proposals/propose.ts'
import { lockOpenProposal, type ProposalRow } from '../proposals/store.ts'
import { defaultLimits, type Limits, mergeLimits } from './limits.ts'
import { findLimits, lockLimits, upsertLimits } from './limits-store.ts'

/** Looser limits, which another person has to approve. */
export const limitsProposal: ProposalKind = {
  name: 'withdrawal.limits',
  permission: 'withdrawal.approve',
  carryOut: async (tx, { record_id: merchantId, content }) =>
    await mergeLimits(tx, { merchantId, ...(content as Partial<Limits>) }),
}

/**
 * Changes some of a merchant's limits. Limits that become stricter apply at once; those that become looser are
 * proposed, and wait for a second person. One commit does both, with entries in the audit log.
 *
 * @throws {AppError} `proposal_not_possible` if a limit becomes looser while somebody else's proposal about this
 *   merchant's limits is open: then nothing is changed
 */
export async function changeLimits(
  { db, clock }: { db: Db; clock: Clock },
  { merchantId, changed, by }: { merchantId: string; changed: Partial<Limits>; by: By },
): Promise<{ limits: Limits; proposal: ProposalRow | null }> {
  return await db.transaction(async (tx) => {
    const now = clock.now()
    const before = await lock(tx, merchantId)
    const { stricter, looser } = divide(before, changed)
    const limits = { ...before, ...stricter }
    const about = { merchantId, recordId: merchantId, now }
    if (Object.keys(stricter).length > 0) {
      await upsertLimits(tx, merchantId, limits)
      await recordAction(tx, { ...about, by, action: limitsProposal.name, details: stricter })
    }
    const proposal =
      Object.keys(looser).length > 0
        ? await propose(tx, { ...about, kind: limitsProposal.name, content: looser, by })
        : null
    return { limits, proposal }
  })
}

/** Locks in the same order as an approval. */
async function lock(tx: Tx, merchantId: string): Promise<Limits> {
  await lockOpenProposal(tx, { kind: limitsProposal.name, recordId: merchantId })
  await lockLimits(tx, merchantId)
  return (await findLimits(tx, merchantId)) ?? defaultLimits
}

/**
 * Splits a change into the limits that become stricter and those that become looser; unchanged limits are in neither.
 */
function divide(before: Limits, changed: Partial<Limits>): { stricter: Partial<Limits>; looser: Partial<Limits> } {
  const entries = Object.entries(changed).filter(([name, to]) => before[name as keyof Limits] !== to)
  const isLooser = ([name, to]: [string, number | null]) => {
    const from = before[name as keyof Limits]
    if (name === 'duplicateWindowSeconds') return (to ?? 0) < (from ?? 0)
    return from !== null && (to === null || to > from)
  }
  return {
    stricter: Object.fromEntries(entries.filter((entry) => !isLooser(entry))),
    looser: Object.fromEntries(entries.filter(isLooser)),
  }
}
