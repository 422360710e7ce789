import type { Command } from 'commander'
import { readConfig } from '../config.ts'
import { type Explanation, explainRecord } from '../explain/explain.ts'
import { inReais } from '../lib/money.ts'
import { knowsAcquirer } from './acquirer-settings.ts'
import { toId } from './arguments.ts'
import { withContext } from './context.ts'
import { print, toPlain, write } from './print.ts'

/** `… explain <id>`: the first command to run when a record looks wrong. */
export function explainCommand(group: Command): void {
  group
    .command('explain')
    .argument('<id>', 'id of a transaction or withdrawal, or the txid of a transaction', toId)
    .description('show everything that happened to it, in order, and its current status')
    .option('--json', 'print JSON')
    .action(async (id: string, { json }: { json?: boolean }) => {
      const isConfigured = knowsAcquirer(readConfig(process.env))
      const explanation = await withContext(async (context) => await explainRecord({ ...context, isConfigured }, id))
      if (!explanation) throw new Error(`There is no transaction and no withdrawal with the id ${id}.`)
      if (json) print(explanation, { json })
      else write(toText(explanation))
    })
}

function toText({ type, id, amount, clientId, endToEnd, timeline, summary, ...rest }: Explanation): string {
  const { acquirer, otherAcquirers: others } = rest
  const acquirers = others.length > 0 ? `${acquirer} (also requested from ${others.join(', ')})` : acquirer
  const head = `${type} ${id}\n${inReais(amount)}, client ${clientId}, acquirer ${acquirers}${endToEnd ? `, ${endToEnd}` : ''}; times are UTC\n`
  const lines = timeline.map(
    ({ at, kind, what }) =>
      `${at.toISOString().replace('T', ' ').replace('Z', '')}  ${kind.padEnd(8)}  ${toPlain(what)}`,
  )
  return `${head}\n${lines.join('\n')}\n\n${toPlain(summary)}\n`
}

/** `guiche transaction …` */
export function transactionCommands(program: Command): void {
  explainCommand(program.command('transaction'))
}
