import { type AuditAnchor, type AuditVerification, verifyAudit } from '../audit/verify.ts'
import type { Db, Tx } from '../db/sql.ts'
import { listStatements, type StatementRow } from './close-store.ts'
import { publicStatementKeys, verifyStatement } from './sign.ts'
import type { Statement } from './statement.ts'

/** Statements that are read at once: some 10 kB each. */
const pageRows = 100

/** Verifies the audit log against itself and against every signed statement, of which each must be signed by one of the service's keys. */
export async function verifySignedAudit(db: Db | Tx): Promise<AuditVerification> {
  const anchors: AuditAnchor[] = []
  const unsigned: string[] = []
  let after: StatementRow | null = null
  for (;;) {
    const rows: StatementRow[] = await listStatements(db, { after, limit: pageRows })
    // After the statements: a key is made with the first of them, perhaps at this moment.
    const keys = await publicStatementKeys(db)
    for (const { acquirer, day, version, statement } of rows) {
      const signedIn = `the statement of ${acquirer} for ${day}, version ${version}`
      const content = (await verifyStatement(statement, keys).catch(() => null)) as Partial<Statement> | null
      if (content?.audit) anchors.push({ ...content.audit, signedIn })
      if (content === null) unsigned.push(signedIn)
    }
    after = rows.at(-1) ?? null
    if (rows.length < pageRows) break
  }
  const verified = await verifyAudit(db, anchors)
  const more = unsigned.map((signedIn) => ({ entry: 0, detail: `${signedIn} is not as it was signed` }))
  return { ...verified, breaches: [...verified.breaches, ...more] }
}
