import type { Command } from 'commander'
import { inReais } from '../lib/money.ts'
import { matchPayment } from '../orphans/match.ts'
import { type Candidate, rank } from '../orphans/score.ts'
import { type ListedRow, listCandidates, listSuspense } from '../orphans/store.ts'
import { undoMatch } from '../orphans/undo.ts'
import { listDisputesOf, toDisputeView } from '../suspense/dispute-store.ts'
import { houseMerchantId } from '../suspense/house.ts'
import { returnHeld } from '../suspense/send-back.ts'
import { findSuspense, type SuspenseRow } from '../suspense/store.ts'
import { byOf } from './actor.ts'
import { toId, toRowCount } from './arguments.ts'
import { type Context, withContext } from './context.ts'
import { print, toPlain } from './print.ts'

type Json = { json?: boolean }

/** `guiche orphan …`: payments in the suspense account, unattributed or duplicate. */
export function orphanCommands(program: Command): void {
  const orphan = program.command('orphan').description('payments in suspense: unattributed or duplicate')

  orphan
    .command('list')
    .description('list payments in suspense that wait for a decision or are being returned, newest first')
    .option('--all', 'also those already attributed or returned')
    .option('--last <count>', 'how many', toRowCount, 50)
    .option('--json', 'print JSON')
    .action(async ({ json, all, last }: Json & { all?: boolean; last: number }) => {
      const rows = await withContext(async ({ db }) => await listSuspense(db, { isOpen: all !== true, limit: last }))
      const listed = rows.map(toListed)
      print(listed, {
        json,
        empty: 'none. Payments that cannot be attributed to a charge appear here',
        shown: listed.map(({ endToEnd: _, ...row }) => ({ ...row, amount: inReais(row.amount) })),
        note: rows.some(({ status }) => status === 'held')
          ? '`npx guiche orphan show <id>` lists the charges that a payment may be for.'
          : undefined,
      })
    })

  orphan
    .command('show')
    .argument('<id>', 'id of the payment in suspense', toId)
    .description('show a payment in suspense and the charges that it may be for, most likely first')
    .option('--json', 'print JSON')
    .action(async (id: string, { json }: Json) => {
      const { row, candidates, disputes } = await withContext(async (context) => {
        const row = await findInSuspense(context, id)
        const kept = await listDisputesOf(context.db, { acquirer: row.acquirer, endToEndId: row.end_to_end })
        const disputes = kept.map(toDisputeView)
        if (row.status !== 'held') return { row, disputes, candidates: [] }
        const merchantId = row.merchant_id === houseMerchantId ? null : row.merchant_id
        return { row, disputes, candidates: rank(row, await listCandidates(context.db, row, merchantId)) }
      })
      const shown = { ...toView(row), disputes }
      if (json) return print({ ...shown, candidates: candidates.map(toCandidate) }, { json })
      const { disputes: _, ...plain } = shown
      const note = row.status === 'held' ? noteOn(candidates) : undefined
      print({ ...plain, amount: inReais(row.amount) }, { note: disputes.length > 0 ? undefined : note })
      if (disputes.length > 0) {
        const rows = disputes.map(({ amount, ...one }) => ({ amount: inReais(amount), ...one }))
        print(rows, {
          note: 'It is disputed (MED). Attributed to a transaction, the disputed amount is blocked there.',
        })
      }
      if (candidates.length > 0) print(candidates.map(toShownCandidate), {})
    })

  orphan
    .command('match')
    .argument('<id>', 'id of the payment in suspense', toId)
    .description('attribute it to a transaction, as if it had paid that charge')
    .requiredOption('--transaction <id>', 'which one', toId)
    .option('--json', 'print JSON')
    .action(async (id: string, { json, transaction }: Json & { transaction: string }) => {
      await act(id, async (deps) => await matchPayment(deps, { id, transactionId: transaction, by: byOf(program) }))
      print(
        { id, status: 'matched', transactionId: transaction },
        {
          json,
          note: `The transaction is PAID and the merchant is notified. \`npx guiche orphan undo ${id}\` reverses this.`,
        },
      )
    })

  orphan
    .command('undo')
    .argument('<id>', 'id of the attributed payment', toId)
    .description('reverse an attribution: the money returns to suspense, and the transaction becomes REFUNDED')
    .option('--json', 'print JSON')
    .action(async (id: string, { json }: Json) => {
      const { transactionId } = await act(id, async (deps) => await undoMatch(deps, { id, by: byOf(program) }))
      print(
        { id, status: 'held', transactionId },
        {
          json,
          note: 'The fee was returned. Attribute the payment to another transaction, or return it: see `npx guiche orphan show`.',
        },
      )
    })

  orphan
    .command('return')
    .argument('<id>', 'id of the payment in suspense', toId)
    .description('return it to the payer')
    .option('--json', 'print JSON')
    .action(async (id: string, { json }: Json) => {
      const row = await act(id, async (deps) => await returnHeld(deps, { id, by: byOf(program) }))
      const { return_amount: amount } = row
      print(
        { id, status: row.status, amount },
        {
          json,
          shown: { id, status: row.status, amount: inReais(amount ?? 0) },
          note: `The service sends it within seconds. \`npx guiche orphan show ${id}\` shows the outcome.`,
        },
      )
    })
}

async function findInSuspense({ db }: Context, id: string): Promise<SuspenseRow> {
  const row = await findSuspense(db, id)
  if (row) return row
  throw new Error(`There is no payment ${id} in suspense. \`npx guiche orphan list --all\` lists them.`)
}

async function act<Result>(
  id: string,
  operate: (deps: Context & { wakeDeliveries: () => void }) => Promise<Result>,
): Promise<Result> {
  return await withContext(async (context) => {
    await findInSuspense(context, id)
    return await operate({ ...context, wakeDeliveries: () => {} })
  })
}

function noteOn([best]: Candidate[]): string {
  return best
    ? '`npx guiche orphan match <id> --transaction <transaction>` attributes it to one of these, `return <id>` returns it:'
    : 'No unpaid charge of the previous three days has this amount. `npx guiche orphan return <id>` returns it.'
}

function toListed(row: ListedRow) {
  return {
    id: row.id,
    kind: row.kind,
    status: row.status,
    amount: row.amount,
    paidAt: row.paid_at,
    acquirer: row.acquirer,
    endToEnd: row.end_to_end,
    clientId: row.client_id,
    transactionId: row.matched_transaction_id,
    error: row.error_message === null ? null : toPlain(row.error_message),
  }
}

function toView(row: SuspenseRow) {
  return {
    id: row.id,
    kind: row.kind,
    status: row.status,
    amount: row.amount,
    paidAt: row.paid_at,
    acquirer: row.acquirer,
    endToEnd: row.end_to_end,
    txid: row.txid === null ? null : toPlain(row.txid),
    payerName: row.payer ? toPlain(row.payer.name) : null,
    payerDocument: row.payer ? toPlain(row.payer.document) : null,
    transactionId: row.matched_transaction_id ?? row.transaction_id,
    returnedByOthers: row.taken_amount,
    error: row.error_message === null ? null : toPlain(row.error_message),
    history: row.statuses.map((status, place) => `${status} ${row.status_dates[place]?.toISOString()}`),
  }
}

function toCandidate(candidate: Candidate) {
  return {
    score: candidate.score,
    transactionId: candidate.id,
    clientId: candidate.client_id,
    status: candidate.status,
    createdAt: candidate.created_at,
    reasons: candidate.reasons,
  }
}

function toShownCandidate(candidate: Candidate) {
  return { ...toCandidate(candidate), reasons: candidate.reasons.join(', ') }
}
