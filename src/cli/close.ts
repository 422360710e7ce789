import { readFileSync, writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import type { JWK } from 'jose'
import { startBackground } from '../db/background.ts'
import { dayBefore, dayOf } from '../lib/brasilia.ts'
import { inReais } from '../lib/money.ts'
import { findClosedDay } from '../operator/closed-days.ts'
import { type Closed, closeDay, readStatement } from '../reconciliation/close.ts'
import type { StatementRow } from '../reconciliation/close-store.ts'
import { publicStatementKeys, verifyStatement } from '../reconciliation/sign.ts'
import type { Amount, Changes, Statement } from '../reconciliation/statement.ts'
import { toRowCount } from './arguments.ts'
import { byOf, withContext } from './context.ts'
import { withAcquirers } from './network.ts'
import { print, toPlain, write } from './print.ts'
import { pickAcquirers } from './reconcile.ts'
import { readStatementKeys } from './statement-keys.ts'

type Json = { json?: boolean }
type Of = { date: string; acquirer?: string }

/** `guiche close …`: reconciles, totals and signs a day of an acquirer. */
export function closeCommands(program: Command): void {
  const command = program.command('close')

  command
    .command('run', { isDefault: true })
    .description('close a past day, or close it again: changes since then become a new version')
    .option('--date <date>', 'the day in Brasília time, such as 2026-11-20; yesterday by default')
    .option('--acquirer <name>', 'only this acquirer; all by default')
    .option('--out <file>', 'write the signed statement to this file; with several acquirers it needs --acquirer')
    .option('--json', 'print JSON')
    .action(async ({ json, acquirer, out, date: chosen }: Json & Partial<Of> & { out?: string }) => {
      // `guiche close` alone only prints the help: someone who explores the commands must not sign anything.
      if (command.args.length === 0) return command.outputHelp()
      const closed = await withAcquirers(async (context) => {
        const date = chosen ?? dayBefore(dayOf(context.clock.now()))
        const all: { name: string; closed: Closed }[] = []
        const picked = pickAcquirers(context, acquirer)
        if (out !== undefined && picked.length > 1)
          throw new Error('--out writes the statement of one acquirer: choose it with --acquirer.')
        const inBackground = { ...context, db: startBackground(context.db).db }
        for (const one of picked) {
          all.push({
            name: one.name,
            closed: await closeDay(inBackground, { acquirer: one, day: date, by: byOf(program) }),
          })
        }
        return all
      })
      for (const one of closed) if (out !== undefined && one.closed.state === 'closed') save(out, one.closed.jws)
      if (json) print(closed.map(toClosedView), { json })
      else for (const one of closed) show(one)
      if (closed.some((one) => one.closed.state === 'interrupted')) process.exitCode = 1
    })

  command
    .command('show')
    .description('show a signed statement: the last version, or another one')
    .requiredOption('--date <date>', 'the day in Brasília time, such as 2026-11-20')
    .requiredOption('--acquirer <name>', 'the acquirer of the statement')
    .option('--number <version>', 'which version', toRowCount)
    .option('--out <file>', 'write the signed statement to this file')
    .option('--json', 'print JSON')
    .action(async ({ json, date, acquirer, number, out }: Json & Required<Of> & { number?: number; out?: string }) => {
      const row = await withContext(async ({ db }) => await findClosedDay(db, { acquirer, day: date, version: number }))
      if (out !== undefined) save(out, row.statement)
      if (json) print(toStatementView(row), { json })
      else write(describe(readStatement(row), row.sha256))
    })

  command
    .command('verify')
    .argument('<file>', 'a signed statement')
    .description('verify the signature of a statement; with --keys no database is needed')
    .option('--keys <file>', 'file with the public keys that `npx guiche close keys` prints')
    .option('--json', 'print JSON')
    .action(async (file: string, { json, keys }: Json & { keys?: string }) => {
      const jwks: { keys: JWK[] } =
        keys === undefined
          ? await withContext(async ({ db }) => await publicStatementKeys(db))
          : readStatementKeys(keys)
      const statement = await verifyStatement(readFileSync(file, 'utf8'), jwks)
      // The same keys sign the documents of balances that move to another cell.
      if (statement.type !== 'guiche-day-statement')
        throw new Error('The signature is valid, but this is the document of a move and not the statement of a day.')
      const { acquirer, day, version, signedAt } = statement
      print(statement, { json, shown: { statement: 'signature valid', acquirer, day, version, signed: signedAt } })
    })

  command
    .command('keys')
    .description('print the public keys that verify statements, as a JSON Web Key Set')
    .action(async () => print(await withContext(async ({ db }) => await publicStatementKeys(db)), { json: true }))
}

function save(file: string, jws: string): void {
  writeFileSync(file, jws, { mode: 0o600 })
}

function toClosedView({ name, closed }: { name: string; closed: Closed }) {
  if (closed.state === 'interrupted') return { acquirer: name, state: closed.state, error: closed.error }
  const { statement, jws, sha256, isNew } = closed
  return { acquirer: name, state: closed.state, isNew, sha256, statement, jws }
}

function toStatementView(row: StatementRow) {
  return { sha256: row.sha256, statement: readStatement(row), jws: row.statement }
}

function show({ name, closed }: { name: string; closed: Closed }): void {
  if (closed.state === 'interrupted') {
    write(`${name}: not closed. The lists of the acquirer could not be read completely: ${toPlain(closed.error)}\n`)
    write('Nothing was signed. Try again later.\n\n')
    return
  }
  write(describe(closed.statement, closed.sha256))
  if (!closed.isNew) write('Nothing has changed since: no version was added.\n')
  write('\n')
}

function describe(statement: Statement, sha256: string): string {
  const { acquirer, day, version, signedAt, former } = statement
  const lines = [
    `${acquirer}, ${day} in Brasília, version ${version}, signed ${signedAt}`,
    `sha256 ${sha256}${former ? `, after version ${former.version} (${former.sha256.slice(0, 16)}…)` : ''}`,
    '',
    ...totalsTable(statement),
    '',
    ...discrepanciesTable(statement),
    ...(statement.changes ? ['', ...changesList(statement.changes)] : []),
  ]
  return `${lines.join('\n')}\n`
}

function totalsTable({ ledgerSide, acquirerSide: acquirer }: Statement): string[] {
  const rows: [string, string, string][] = [
    ['', 'acquirer', 'ledger'],
    ['opening', inReais(acquirer.opening), inReais(ledgerSide.opening)],
    ['in', inWords(acquirer.in), inWords(ledgerSide.in)],
    ['returned', inWords(acquirer.returned), inWords(ledgerSide.returned)],
    ['paid out', inWords(acquirer.paidOut), inWords(ledgerSide.paidOut)],
    ['payouts returned', '-', inWords(ledgerSide.payoutsReturned)],
    ['fees', acquirer.fees === null ? 'not reported' : inReais(acquirer.fees), '-'],
    ['corrections', '-', inWords(ledgerSide.corrections)],
    ['closing', inReais(acquirer.closing), inReais(ledgerSide.closing)],
  ]
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows.map(([name, ...cells]) =>
    [name.padEnd(widths[0] ?? 0), ...cells.map((cell, column) => cell.padStart(widths[column + 1] ?? 0))].join('   '),
  )
}

function inWords({ count, sum }: Amount): string {
  return `${count.toLocaleString('en')} × ${inReais(sum)}`.replace(/^0 × .*/, 'none')
}

function discrepanciesTable({ differences }: Statement): string[] {
  if (differences.length === 0) return ['No discrepancies.']
  const byClass = new Map<string, Map<string, number>>()
  for (const { class: name, state } of differences) {
    const states = byClass.get(name) ?? new Map<string, number>()
    byClass.set(name, states.set(state, (states.get(state) ?? 0) + 1))
  }
  const lines = [...byClass].map(
    ([name, states]) => `  ${name.padEnd(14)} ${[...states].map(([state, count]) => `${count} ${state}`).join(', ')}`,
  )
  return ['Discrepancies of the day:', ...lines, '`npx guiche reconcile list` shows each of them.']
}

/** Fits a screen; --json lists all. */
const changesMax = 20

function changesList({ postedSince, totals, differences }: Changes): string[] {
  const lines = [
    ...(postedSince.count > 0 ? [`  payments of the day posted since: ${inWords(postedSince)}`] : []),
    ...totals.map(({ name, before, after }) => `  ${name}: ${before ?? '-'} → ${after ?? '-'}`),
    ...differences.map(
      (one) => `  ${one.class} ${toPlain(one.reference)}: ${one.before ?? 'none'} → ${one.after ?? 'gone'}`,
    ),
  ]
  const more = lines.length > changesMax ? [`  … and ${lines.length - changesMax} more: --json lists them all`] : []
  return ['Changes since the previous version:', ...lines.slice(0, changesMax), ...more]
}
