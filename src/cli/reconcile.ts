import type { Command } from 'commander'
import type { Acquirer } from '../acquirers/acquirer.ts'
import { startBackground } from '../db/background.ts'
import { listUnconfigured } from '../explain/unconfigured-store.ts'
import {
  confirmListedDiscrepancy,
  type DiscrepancyView,
  dismissListedDiscrepancy,
  findDiscrepancy,
  toDiscrepancyView,
} from '../operator/discrepancies.ts'
import { listDiscrepancyPage } from '../operator/reconciliation-store.ts'
import { type RunResult, reconcile } from '../reconciliation/run.ts'
import { discrepancyStates } from '../reconciliation/store.ts'
import type { SettleDeps } from '../transactions/settle.ts'
import { toEnd, toId, toRowCount, toShortText, toStart } from './arguments.ts'
import { byOf, withContext } from './context.ts'
import { toDiscrepancyLine, toShownDiscrepancy } from './discrepancy.ts'
import { withAcquirers } from './network.ts'
import { print, toPlain, write } from './print.ts'

type Json = { json?: boolean }

const hourMs = 60 * 60_000
/** By default a run ends this long before now: the service may not have processed newer payments yet. */
const trailMs = 5 * 60_000
/** Fits a screen or two; `list --last <count>` shows more. */
const shownMax = 50

/** `guiche reconcile …`: compares acquirers with the ledger, and decides on discrepancies. */
export function reconcileCommands(program: Command): void {
  const command = program.command('reconcile')

  command
    .command('run', { isDefault: true })
    .description('compare now: 24 hours up to five minutes ago, or another period')
    .option('--acquirer <name>', 'only this acquirer; all by default')
    .option('--from <time>', 'start: a time, or a day in Brasília time such as 2026-11-20', toStart)
    .option('--to <time>', 'end: a time (exclusive), or a day (inclusive)', toEnd)
    .option('--json', 'print JSON')
    .action(async ({ json, acquirer, from, to }: Json & { acquirer?: string; from?: Date; to?: Date }) => {
      const { results: done, unconfigured } = await withAcquirers(async (context) => {
        const until = to ?? new Date(context.clock.now().getTime() - trailMs)
        const window = { from: from ?? new Date(until.getTime() - 24 * hourMs), to: until }
        if (window.from >= window.to) throw new Error('--from must be before --to.')
        const results: { run: RunResult; differences: DiscrepancyView[] }[] = []
        const inBackground = { ...context, db: startBackground(context.db).db }
        for (const one of pickAcquirers(context, acquirer)) {
          const run = await reconcile(inBackground, { acquirer: one, kind: 'manual', window, by: byOf(program) })
          const open = { states: ['open' as const], acquirer: one.name, class: undefined }
          const { items } = await listDiscrepancyPage(context.db, open, { limit: 100_000, offset: 0 })
          const found = new Set(run.foundIds)
          results.push({ run, differences: items.filter(({ id }) => found.has(id)).map(toDiscrepancyView) })
        }
        const names = context.acquirers.all.map(({ name }) => name)
        const unconfigured = acquirer === undefined ? await listUnconfigured(context.db, names) : []
        return { results, unconfigured }
      })
      if (json)
        print(
          done.map(({ run: { foundIds: _, ...run }, differences }) => ({ ...run, differences })),
          { json },
        )
      else for (const one of done) show(one)
      if (!json)
        for (const { name } of unconfigured)
          write(`not compared: ${name} (it has open records, but is not configured)\n`)
      if (done.some(({ run }) => run.state === 'interrupted')) process.exitCode = 1
    })

  command
    .command('list')
    .description('list discrepancies, newest first')
    .option('--open', 'only open ones')
    .option('--acquirer <name>', 'only those of this acquirer')
    .option('--last <count>', 'how many', toRowCount, shownMax)
    .option('--json', 'print JSON')
    .action(async ({ json, open, acquirer, last }: Json & { open?: boolean; acquirer?: string; last: number }) => {
      const filters = { states: open ? (['open'] as const) : discrepancyStates, acquirer, class: undefined }
      const { items } = await withContext(
        async ({ db }) => await listDiscrepancyPage(db, filters, { limit: last, offset: 0 }),
      )
      const rows = items.map(toDiscrepancyView)
      print(rows, {
        json,
        shown: rows.map(toDiscrepancyLine),
        note: rows.some(({ state }) => state === 'open') ? decideNote : undefined,
      })
    })

  command
    .command('show')
    .argument('<id>', 'id of the discrepancy', toId)
    .description('show a discrepancy: both sides, and the proposed action')
    .option('--json', 'print JSON')
    .action(async (id: string, { json }: Json) => {
      const row = toDiscrepancyView(await withContext(async ({ db }) => await findDiscrepancy(db, id)))
      print(row, {
        json,
        shown: toShownDiscrepancy(row),
        note: row.state === 'open' ? nextNote(row) : undefined,
      })
    })

  command
    .command('confirm')
    .argument('<id...>', 'ids of the discrepancies', toIds)
    .description('carry out the proposed action: settle, place in suspense, or post a correction')
    .option('--json', 'print JSON')
    .action(async (ids: string[], { json }: Json) => {
      const rows = await withAcquirers(async (context) => {
        const confirmed: DiscrepancyView[] = []
        const by = byOf(program)
        for (const id of ids) {
          const done = await confirmListedDiscrepancy(context, { id, by }).catch((cause: unknown) => {
            const message = cause instanceof Error ? cause.message : String(cause)
            const before = confirmed.length > 0 ? ` Confirmed before it: ${confirmed.length}.` : ''
            throw new Error(`${message}${before}`, { cause })
          })
          confirmed.push(done)
        }
        return confirmed
      })
      print(rows, { json, shown: rows.map(toDiscrepancyLine), note: noteOn(rows) })
    })

  command
    .command('dismiss')
    .argument('<id>', 'id of the discrepancy', toId)
    .description('dismiss a discrepancy; it is reported again only if one side changes')
    .requiredOption('--reason <reason>', 'why, for readers of the statement', toShortText)
    .option('--json', 'print JSON')
    .action(async (id: string, { json, reason }: Json & { reason: string }) => {
      const row = await withContext(
        async (context) => await dismissListedDiscrepancy(context, { id, reason, by: byOf(program) }),
      )
      print(row, { json, shown: toShownDiscrepancy(row) })
    })
}

function toIds(text: string, before: string[] = []): string[] {
  return [...before, toId(text)]
}

const decideNote =
  '`npx guiche reconcile show <id>` shows one, `confirm <id>` carries out the proposal, `dismiss <id> --reason …` dismisses it.'

function nextNote({ proposal: { action } }: DiscrepancyView): string {
  if (action === 'none') return 'Nothing to do: it resolves automatically with the next run or the next close.'
  if (action === 'investigate') return 'Guichê has no proposal: investigate, then `dismiss <id> --reason …`.'
  return '`npx guiche reconcile confirm <id>` carries out the proposal, `dismiss <id> --reason …` dismisses it.'
}

/** The named acquirer, or all. */
export function pickAcquirers({ acquirers }: Pick<SettleDeps, 'acquirers'>, name: string | undefined): Acquirer[] {
  if (name === undefined) return [...acquirers.all]
  const acquirer = acquirers.get(name)
  if (acquirer) return [acquirer]
  throw new Error(`There is no acquirer ${name}. Configured: ${acquirers.all.map((one) => one.name).join(', ')}.`)
}

function show({ run, differences }: { run: RunResult; differences: DiscrepancyView[] }): void {
  const { from, to } = run.window
  const { payment, return: returns, payout } = run.compared
  write(`${run.acquirer}, ${from.toISOString()} to ${to.toISOString()}\n`)
  write(`${payment} payments, ${returns} payments with returns, ${payout} payouts compared\n`)
  if (run.state === 'interrupted')
    write(
      `\nInterrupted: what was found until then is stored, and nothing is resolved: ${toPlain(run.error ?? '')}\nRun it again later.\n`,
    )
  if (run.resolvedCount > 0) write(`${run.resolvedCount} earlier discrepancies resolved automatically\n`)
  if (differences.length > 0) showDiscrepancies(differences, run.newCount)
  else if (run.state === 'complete') write('no open discrepancies\n')
  write('\n')
}

function showDiscrepancies(differences: DiscrepancyView[], newCount: number): void {
  write(`${differences.length} open, ${newCount} of them new or open again\n\n`)
  const more = differences.length - shownMax
  const note = more > 0 ? `… and ${more} more: \`npx guiche reconcile list --open --last 99999\`\n` : ''
  const lines = differences.slice(0, shownMax).map(toDiscrepancyLine)
  print(
    lines.map(({ state: _, ...line }) => line),
    { note: `${note}${decideNote}` },
  )
}

function noteOn(rows: DiscrepancyView[]): string | undefined {
  return rows.some(({ class: name }) => name === 'payout')
    ? 'If a payout discrepancy froze payouts, `npx guiche ledger release` ends the freeze.'
    : undefined
}
