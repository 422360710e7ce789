import type { Command } from 'commander'
import { phrases } from '../attribution/score.ts'
import type { By } from '../audit/record.ts'
import { inReais } from '../lib/money.ts'
import {
  attributePayment,
  listPayments,
  type PaymentView,
  returnPayment,
  reverseAttribution,
  showPayment,
} from '../operator/suspense.ts'
import { toId, toRowCount } from './arguments.ts'
import { byOf, type Context, withContext } from './context.ts'
import { print } from './print.ts'

type Json = { json?: boolean }

/** `guiche suspense …`: payments in the suspense account, unattributed or duplicate. */
export function suspenseCommands(program: Command): void {
  const group = program.command('suspense')

  group
    .command('list')
    .description('list payments in suspense that wait for a decision or are being returned, newest first')
    .option('--all', 'also those already attributed or returned')
    .option('--last <count>', 'how many', toRowCount, 50)
    .option('--json', 'print JSON')
    .action(async ({ json, all, last }: Json & { all?: boolean; last: number }) => {
      const { data } = await withContext(
        async (context) => await listPayments(context, { isOpen: all !== true, limit: last, offset: 0 }),
      )
      print(data, {
        json,
        empty: 'none. Payments that cannot be attributed to a charge appear here',
        shown: data.map(({ id, kind, status, amount, paidAt, acquirer, clientId, transactionId, error }) => {
          return { id, kind, status, amount: inReais(amount), paidAt, acquirer, clientId, transactionId, error }
        }),
        note: data.some(({ status }) => status === 'held')
          ? '`npx guiche suspense show <id>` lists the charges that a payment may be for.'
          : undefined,
      })
    })

  group
    .command('show')
    .argument('<id>', 'id of the payment in suspense', toId)
    .description('show a payment in suspense and the charges that it may be for, most likely first')
    .option('--json', 'print JSON')
    .action(async (id: string, { json }: Json) => {
      const payment = await withContext(async (context) => await showPayment(context, { id, by: byOf(program) }))
      if (json) return print(payment, { json })
      const { disputes, candidates, status } = payment
      const note = status === 'held' ? noteOn(candidates) : undefined
      print(toShown(payment), { note: disputes.length > 0 ? undefined : note })
      if (disputes.length > 0) {
        const rows = disputes.map(({ amount, ...one }) => ({ amount: inReais(amount), ...one }))
        print(rows, {
          note: 'The payment is disputed (MED). If you attribute it to a transaction, the disputed amount is blocked there.',
        })
      }
      if (candidates.length > 0) print(candidates.map(toShownCandidate), {})
    })

  group
    .command('match')
    .argument('<id>', 'id of the payment in suspense', toId)
    .description('attribute it to a transaction, as if it had paid that charge')
    .requiredOption('--transaction <id>', 'which one', toId)
    .option('--json', 'print JSON')
    .action(async (id: string, { json, transaction }: Json & { transaction: string }) => {
      const payment = await act(program, id, async (deps, input) => {
        return await attributePayment(deps, { ...input, transactionId: transaction })
      })
      print(payment, {
        json,
        shown: { id, status: payment.status, transactionId: transaction },
        note: `The transaction is PAID and the merchant is notified. \`npx guiche suspense undo ${id}\` reverses this.`,
      })
    })

  group
    .command('undo')
    .argument('<id>', 'id of the attributed payment', toId)
    .description('reverse an attribution: the money returns to suspense, and the transaction becomes REFUNDED')
    .option('--json', 'print JSON')
    .action(async (id: string, { json }: Json) => {
      const payment = await act(program, id, reverseAttribution)
      print(payment, {
        json,
        shown: { id, status: payment.status, transactionId: payment.transactionId },
        note: 'The fee was returned. Attribute the payment to another transaction, or return it: see `npx guiche suspense show`.',
      })
    })

  group
    .command('return')
    .argument('<id>', 'id of the payment in suspense', toId)
    .description('return it to the payer')
    .option('--json', 'print JSON')
    .action(async (id: string, { json }: Json) => {
      const payment = await act(program, id, returnPayment)
      print(payment, {
        json,
        shown: { id, status: payment.status, amount: inReais(payment.returnAmount ?? 0) },
        note: `The service sends it within seconds. \`npx guiche suspense show ${id}\` shows the outcome.`,
      })
    })
}

async function act<Result>(
  program: Command,
  id: string,
  operate: (deps: Context, input: { id: string; by: By }) => Promise<Result>,
): Promise<Result> {
  return await withContext(async (context) => await operate(context, { id, by: byOf(program) }))
}

type Candidates = PaymentView['candidates']

function noteOn([best]: Candidates): string {
  return best
    ? '`npx guiche suspense match <id> --transaction <transaction>` attributes it to one of these, `return <id>` returns it:'
    : 'No unpaid charge at this acquirer has this amount and was created in the three days before the payment. `npx guiche suspense return <id>` returns it.'
}

function toShown(payment: PaymentView) {
  return {
    id: payment.id,
    kind: payment.kind,
    status: payment.status,
    amount: inReais(payment.amount),
    paidAt: payment.paidAt,
    acquirer: payment.acquirer,
    endToEnd: payment.endToEnd,
    txid: payment.txid,
    payerName: payment.payer?.name,
    payerDocument: payment.payer?.document,
    transactionId: payment.matched?.transactionId ?? payment.paidTransactionId,
    returnedByOthers: payment.returnedByOthers,
    error: payment.error?.text,
    history: payment.history.map(({ status, at }) => `${status} ${at}`),
  }
}

function toShownCandidate({ client, evidence, ...candidate }: Candidates[number]) {
  return {
    score: candidate.score,
    transactionId: candidate.transactionId,
    clientId: client?.clientId,
    status: candidate.status,
    createdAt: candidate.createdAt,
    reasons: evidence.map(({ what, points }) => `${phrases[what]} (${points})`).join(', '),
  }
}
