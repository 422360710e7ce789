import { type AuditAnchor, type AuditVerification, verifyAudit } from '../audit/verify.ts'
import type { Db, Tx } from '../db/sql.ts'
import type { Breach } from '../ledger/verify.ts'
import { hashTransfers, listStatements, type StatementRow, type TransfersHash } from './close-store.ts'
import { publicStatementKeys, verifyStatement } from './sign.ts'
import type { Statement } from './statement.ts'

/** The statements of one page: about 10 kB each. */
const pageRows = 100

/**
 * Verifies the audit log's own chain, and against every signed statement; each statement must be signed by one of the
 * service's keys.
 */
export async function verifySignedAudit(db: Db | Tx): Promise<AuditVerification> {
  const { signed, invalid } = await readSigned(db)
  const anchors = signed.flatMap(({ statementName, audit }): AuditAnchor[] =>
    audit ? [{ ...audit, statementName }] : [],
  )
  const verified = await verifyAudit(db, anchors)
  const more = invalid.map((statementName) => ({ entry: 0, detail: `${statementName} is not as it was signed` }))
  return { ...verified, breaches: [...verified.breaches, ...more] }
}

/**
 * Verifies the ledger's transfers of each day against the last statement of each acquirer: it finds a transfer that was
 * changed, added or deleted since. An operator who knows the reason closes the day again; the audit log records that,
 * and the previous version is kept.
 */
export async function verifySignedTransfers(db: Db | Tx): Promise<Breach[]> {
  const { signed } = await readSigned(db)
  const found = new Map<string, TransfersHash>()
  const breaches: Breach[] = []
  const last = new Map(signed.map((one) => [`${one.acquirer} ${one.day}`, one]))
  for (const { statementName, day, window, transfers } of last.values()) {
    if (!transfers) continue
    const now = found.get(day) ?? (await hashTransfers(db, window))
    found.set(day, now)
    if (now.sha256 === transfers.sha256 && now.count === transfers.count) continue
    const detail = `the ledger has ${now.count} transfers of ${day} with the hash ${now.sha256}, and ${statementName} was signed over ${transfers.count} with the hash ${transfers.sha256}`
    breaches.push({ rule: 'signed_day', merchantId: null, recordId: null, detail })
  }
  return breaches
}

type Signed = {
  statementName: string
  acquirer: string
  day: string
  window: { from: Date; to: Date }
  audit: Statement['audit']
  transfers: TransfersHash | null
}

/** What all statements contain about audit log and transfers, and the names of those that fail verification. */
async function readSigned(db: Db | Tx): Promise<{ signed: Signed[]; invalid: string[] }> {
  const signed: Signed[] = []
  const invalid: string[] = []
  let after: StatementRow | null = null
  for (;;) {
    const rows: StatementRow[] = await listStatements(db, { after, limit: pageRows })
    // Read after the statements: the first statement creates the key, perhaps at this moment.
    const keys = await publicStatementKeys(db)
    for (const { acquirer, day, version, statement } of rows) {
      const statementName = `the statement of ${acquirer} for ${day}, version ${version}`
      const content = (await verifyStatement(statement, keys).catch(() => null)) as Statement | null
      if (content === null) invalid.push(statementName)
      else
        signed.push({
          statementName,
          acquirer,
          day,
          window: { from: new Date(content.from), to: new Date(content.to) },
          audit: content.audit ?? null,
          transfers: content.transfers ?? null,
        })
    }
    after = rows.at(-1) ?? null
    if (rows.length < pageRows) return { signed, invalid }
  }
}
