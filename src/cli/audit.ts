import type { Command } from 'commander'
import { listActions } from '../audit/store.ts'
import type { AuditBreach } from '../audit/verify.ts'
import { verifySignedAudit } from '../reconciliation/verify-audit.ts'
import { toId, toRowCount } from './arguments.ts'
import { withContext } from './context.ts'
import { print, write } from './print.ts'

/** `guiche audit …`: the log of manual actions. */
export function auditCommands(program: Command): void {
  const audit = program.command('audit')

  audit
    .command('verify')
    .description('verify that no entry was changed, deleted or inserted; exits with 1 if one was')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const verified = await withContext(async ({ db }) => await verifySignedAudit(db))
      const { entries, head, breaches } = verified
      if (json) print({ ...verified, isIntact: breaches.length === 0 }, { json })
      else if (breaches.length === 0)
        write(
          `the audit log is intact: ${entries} ${entries === 1 ? 'entry' : 'entries'}${head ? `, the last one has the hash ${head.sha256}` : ''}\n`,
        )
      else write(`the audit log was tampered with:\n${breaches.map(toLine).join('')}`)
      if (breaches.length > 0) process.exitCode = 1
    })

  audit
    .command('list')
    .description('list the last actions, oldest first')
    .option('--record <id>', 'only those of one record, such as a transaction, or of a client (by merchantId)', toId)
    .option('--last <count>', 'how many', toRowCount, 50)
    .option('--json', 'print JSON')
    .action(async ({ json, record, last }: { json?: boolean; record?: string; last: number }) => {
      const rows = await withContext(
        async ({ db }) => await listActions(db, { recordIds: record === undefined ? null : [record], limit: last }),
      )
      const listed = rows.map((row) => ({
        at: row.at,
        actor: row.actor,
        action: row.action,
        recordId: row.record_id,
        merchantId: row.merchant_id,
        details: row.details,
      }))
      print(listed, { json, shown: listed.map((row) => ({ ...row, details: inWords(row.details) })) })
    })
}

/** Entry 0: the fault is one of the log as a whole, such as entries that are not in the hash chain. */
function toLine({ entry, detail }: AuditBreach): string {
  return entry === 0 ? `  ${detail}\n` : `  entry ${entry} ${detail}\n`
}

function inWords(details: Record<string, unknown> | null): string {
  const members = Object.entries(details ?? {})
  return members
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ')
}
