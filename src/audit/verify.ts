import { createHash } from 'node:crypto'
import type { Db, Tx } from '../db/sql.ts'
import { type ChainedAction, countUnchained, listChained } from './store.ts'

/** Where the audit log was tampered with: the entry's number in the chain, or 0 if it concerns the log as a whole. */
export type AuditBreach = { entry: number; detail: string }

/** The newest entry at some moment: its position in the chain and its hash. */
export type AuditHead = { position: number; sha256: string }

/** An anchor: a head that a closed day's signed statement contains, and the name of that statement. */
export type AuditAnchor = AuditHead & { statementName: string }

export type AuditVerification = { entries: number; head: AuditHead | null; breaches: AuditBreach[] }

/** Rows that are read in one query: about 300 bytes each. */
const pageRows = 5_000
/** More breaches than anybody reads. After these the verification stops. */
const breachesMax = 100

/**
 * Recomputes the hash chain of the audit log from its first entry and compares it with the anchors. An entry that was
 * changed or deleted is found at its position, and inserted ones are counted. If all entries from one on were rewritten
 * with new hashes, or the last ones were deleted, only the anchors show it.
 */
export async function verifyAudit(db: Db | Tx, anchors: AuditAnchor[] = []): Promise<AuditVerification> {
  const signed = new Map<number, AuditAnchor[]>()
  for (const anchor of anchors) signed.set(anchor.position, [...(signed.get(anchor.position) ?? []), anchor])
  const breaches: AuditBreach[] = []
  let former: Buffer = Buffer.alloc(0)
  let position = 0
  for (let isMore = true; isMore && breaches.length < breachesMax; ) {
    const rows = await listChained(db, { after: position, limit: pageRows })
    for (const row of rows) {
      breaches.push(...checkEntry(row, position, former))
      for (const { sha256, statementName } of signed.get(row.position) ?? []) {
        if (sha256 !== row.hash.toString('hex'))
          breaches.push({ entry: row.position, detail: `is not the entry that was signed in ${statementName}` })
      }
      signed.delete(row.position)
      former = row.hash
      position = row.position
    }
    isMore = rows.length === pageRows
  }
  if (breaches.length < breachesMax) {
    for (const { position: entry, statementName } of [...signed.values()].flat())
      breaches.push({ entry, detail: `was signed in ${statementName} and is not there any more` })
    const unchained = await countUnchained(db)
    const outside = unchained === 1 ? '1 entry of the audit log is' : `${unchained} entries of the audit log are`
    if (unchained > 0) breaches.push({ entry: 0, detail: `${outside} not in the chain` })
  }
  const head = position === 0 ? null : { position, sha256: former.toString('hex') }
  return { entries: position, head, breaches: breaches.slice(0, breachesMax) }
}

function checkEntry(row: ChainedAction, formerPosition: number, former: Buffer): AuditBreach[] {
  const { position: entry, id, at } = row
  const [firstMissing, lastMissing] = [formerPosition + 1, entry - 1]
  if (firstMissing <= lastMissing) {
    const others = firstMissing === lastMissing ? '' : `, as are all up to number ${lastMissing}`
    return [{ entry: firstMissing, detail: `is missing from the chain${others}` }]
  }
  if (id === null) return [{ entry, detail: 'was deleted' }]
  if (hashEntry(former, row).equals(row.hash)) return []
  return [{ entry, detail: `was changed, or the one before it was (id ${id}, ${at?.toISOString()})` }]
}

/** The same computation as `audit_entry_hash` in migrations/0011_audit_log.sql. */
function hashEntry(former: Buffer, row: ChainedAction): Buffer {
  const fields = [row.id, row.at?.getTime(), row.actor, row.action, row.merchant_id, row.record_id, row.details]
  const hash = createHash('sha256').update(former)
  for (const field of fields)
    hash.update(
      createHash('sha256')
        .update(String(field ?? ''))
        .digest(),
    )
  return hash.digest()
}
