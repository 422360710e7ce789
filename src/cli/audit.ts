import type { Command } from 'commander'
import { listActions } from '../audit/store.ts'
import { toId, toRowCount } from './arguments.ts'
import { withContext } from './context.ts'
import { print } from './print.ts'

/** `guiche audit …`: who did what by hand. */
export function auditCommands(program: Command): void {
  program
    .command('audit')
    .description('who did what by hand')
    .command('list')
    .description('the last actions, in order')
    .option('--record <id>', 'those about one transaction, withdrawal or client (its merchantId)', toId)
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

function inWords(details: Record<string, unknown> | null): string {
  const members = Object.entries(details ?? {})
  return members
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ')
}
