import {
  type Guiche,
  GuicheError,
  type StatementFilters,
  type Transaction,
  type TransactionFilters,
  type Withdrawal,
  type WithdrawalFilters,
} from '../../../sdk/src/index.ts'
import { requireSandbox } from './connect.ts'

type Input = Record<string, unknown>

export type Tool = {
  description: string
  /** A JSON schema's `properties` and `required`. */
  input: { properties?: Record<string, object>; required?: string[] }
  /** It creates or changes something. */
  writes?: true
  run: (guiche: Guiche, input: Input) => Promise<unknown>
}

const listedMax = 20

const id = { type: 'string', description: 'The id of the record' }
const limit = { type: 'integer', minimum: 1, maximum: listedMax, description: `${listedMax} at most, and by default` }
const dates = {
  startDate: { type: 'string', description: 'From this time on, ISO 8601' },
  endDate: { type: 'string', description: 'Up to this time, ISO 8601' },
}

/** They only read, and leave out whatever identifies a person. */
export const readTools: Record<string, Tool> = {
  search_transactions: {
    description: 'Find PIX charges and payments, newest first, by status, own order number, end-to-end id or dates.',
    input: {
      properties: {
        status: { type: 'array', items: { type: 'string' }, description: 'Such as PAID, FAILED, REFUNDED, BLOCKED' },
        externalCode: { type: 'string', description: 'The merchant’s own number of the order' },
        endToEnd: { type: 'string', description: 'The end-to-end id of the payment' },
        ...dates,
        limit,
      },
    },
    run: async (guiche, { limit, ...filters }) => {
      const { data, total } = await guiche.transactions
        .list({ ...(filters as TransactionFilters), ...page(limit) })
        .page()
      return { total, transactions: data.map(toTransaction) }
    },
  },
  get_transaction: {
    description: 'One charge with everything that happened to it, in order, and why it has its status.',
    input: { properties: { id }, required: ['id'] },
    run: async (guiche, { id }) => {
      const transaction = await guiche.transactions.get(String(id))
      return { ...toTransaction(transaction), ...(await explain(guiche, transaction)) }
    },
  },
  search_withdrawals: {
    description: 'Find withdrawals, newest first, by status, own number or dates.',
    input: {
      properties: {
        status: { type: 'array', items: { type: 'string' }, description: 'Such as PROCESSED, FAILED, PENDING' },
        externalCode: { type: 'string', description: 'The merchant’s own number' },
        ...dates,
        limit,
      },
    },
    run: async (guiche, { limit, ...filters }) => {
      const { data, total } = await guiche.withdrawals
        .list({ ...(filters as WithdrawalFilters), ...page(limit) })
        .page()
      return { total, withdrawals: data.map(toWithdrawal) }
    },
  },
  get_withdrawal: {
    description:
      'One withdrawal with everything that happened to it, in order. hold says why a pending one waits: for approval, or because it looks like a duplicate.',
    input: { properties: { id }, required: ['id'] },
    run: async (guiche, { id }) => {
      const withdrawal = await guiche.withdrawals.get(String(id))
      return { ...toWithdrawal(withdrawal), ...(await explain(guiche, withdrawal)) }
    },
  },
  list_events: {
    description:
      'The latest status changes of all records, newest first, each with its delivery to the record’s own webhookUrl (null: it has none). get_transaction and get_withdrawal also have the deliveries to webhook endpoints.',
    input: { properties: { limit } },
    run: async (guiche, { limit }) => (await guiche.events.list(page(limit)).page()).data,
  },
  get_balance: {
    description: 'The balance now: available, reserved, blocked and owed, in cents.',
    input: {},
    run: async (guiche) => await guiche.balance.get(),
  },
  get_statement: {
    description: 'What changed the available balance, newest first.',
    input: { properties: { ...dates, limit } },
    run: async (guiche, { limit, ...filters }) =>
      (await guiche.statement.list({ ...(filters as StatementFilters), ...page(limit) }).page()).data,
  },
}

/** Only with `--allow-charges`, and only where the acquirer is the simulator. */
export const chargeTools: Record<string, Tool> = {
  create_test_charge: {
    description: 'Create a charge in the sandbox. No real money moves.',
    input: {
      properties: {
        amount: { type: 'integer', minimum: 1, description: 'Cents: 2590 is R$ 25,90' },
        externalCode: { type: 'string', description: 'The merchant’s own number of the order, 8 characters or more' },
        webhookUrl: { type: 'string', description: 'Address that gets its webhooks' },
      },
      required: ['amount'],
    },
    writes: true,
    run: async (guiche, { amount, externalCode, webhookUrl }) => {
      // Since the last call, the service may have been configured with a real PSP.
      await requireSandbox(guiche)
      const { id, pixResponse, status } = await guiche.transactions.create({
        amount: Number(amount),
        ...(externalCode !== undefined && { externalCode: String(externalCode) }),
        ...(webhookUrl !== undefined && { webhookUrl: String(webhookUrl) }),
      })
      const { url } = await guiche.transactions.paymentLink(id)
      return { id, status, uri: pixResponse.uri, paymentPage: url }
    },
  },
  pay_test_charge: {
    description: 'Pay a charge at the simulated bank, as a customer would. No real money moves.',
    input: { properties: { id }, required: ['id'] },
    writes: true,
    run: async (guiche, { id }) => {
      const uri = (await guiche.transactions.get(String(id))).pixResponse?.uri
      if (!uri) throw new Error('The charge has no code that can be paid.')
      const { endToEndId } = await guiche.sandbox.pay({ uri })
      return { endToEndId, ...toTransaction(await guiche.transactions.waitFor(String(id), 'PAID')) }
    },
  },
}

function page(limit: unknown): { perPage: number } {
  const number = Number(limit ?? listedMax)
  return { perPage: Number.isInteger(number) ? Math.min(listedMax, Math.max(1, number)) : listedMax }
}

/** What an assistant may see of a record: named fields only, so that a field that is added later stays out. */
function toTransaction(one: Transaction) {
  const { id, status, amount, amountPaid, amountRefunded, amountReturned, externalCode, createdAt, updatedAt } = one
  const { paymentDate, endToEnd, errorMessage, acquirer, pixResponse } = one
  return {
    ...{ id, status, amount, amountPaid, amountRefunded, amountReturned, externalCode, createdAt, updatedAt },
    ...{ paymentDate, endToEnd, errorMessage, acquirer, expirationDate: pixResponse?.expirationDate },
    refunds: one.refunds?.map(({ id, status, amount }) => ({ id, status, amount })),
    disputes: one.disputes?.map(({ id, status, amount, deadline }) => ({ id, status, amount, deadline })),
  }
}

function toWithdrawal(one: Withdrawal) {
  const { id, status, amount, amountWithdrawn, externalCode, createdAt, updatedAt, processedDate, endToEnd } = one
  const { errorMessage, acquirer, hold } = one
  return {
    ...{ id, status, amount, amountWithdrawn, externalCode, createdAt, updatedAt, processedDate, endToEnd },
    ...{ errorMessage, acquirer, hold },
  }
}

/** The status changes in order, and what became of their webhooks. */
async function explain(guiche: Guiche, { id, statusHistory }: Pick<Transaction | Withdrawal, 'id' | 'statusHistory'>) {
  const history = statusHistory.map(({ status, date }) => ({ status, date }))
  const deliveries = await guiche.deliveries
    .list({ recordId: id, perPage: 100 })
    .page()
    .catch((error: unknown) => {
      if (error instanceof GuicheError && error.code === 'insufficient_scope') return null
      throw error
    })
  if (!deliveries) return { history, webhooks: 'Reading webhook deliveries needs the scope webhook.read.' }
  return {
    history,
    // The attempts themselves may have been deleted by now.
    webhooks: deliveries.data.map(({ eventId, endpointId, type, state, attempts, ...last }) => {
      const { lastStatus, lastError, nextAttemptAt } = last
      const attemptsKept = attempts.length
      return { eventId, endpointId, type, state, attemptsKept, lastStatus, lastError, nextAttemptAt }
    }),
  }
}
