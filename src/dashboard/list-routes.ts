import { type Static, Type } from 'typebox'
import type { Db, Reads } from '../db/sql.ts'
import { type SignedIn, userOf } from '../http/caller.ts'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import type { Clock } from '../lib/clock.ts'
import { invalidField } from '../lib/errors.ts'
import { toTransactionFilters } from '../transactions/routes.ts'
import { ListTransactionsQuery } from '../transactions/schema.ts'
import { toWithdrawalFilters } from '../withdrawals/routes.ts'
import { ListWithdrawalsQuery } from '../withdrawals/schema.ts'
import { cursorPattern, readPage, toDates, toSummary } from './list.ts'
import { ListSummaryView, TransactionsView, WithdrawalsView } from './list-schema.ts'
import {
  countStatuses,
  countTransactions,
  findListedTransactions,
  findListedWithdrawals,
  matchingTransactions,
  matchingWithdrawals,
  type StatusCount,
  sorts,
  summedMax,
  sumRows,
} from './list-store.ts'
import { ClientFilter, findShownMerchantId } from './overview-routes.ts'

type Deps = { db: Db; reads: Reads; clock: Clock }

/** From the year 1000 on, as `isDay`. */
const Day = Type.Optional(Type.String({ format: 'iso-date', pattern: '^[1-9]', minLength: 10, maxLength: 10 }))
const Cursor = Type.Optional(Type.String({ pattern: cursorPattern }))
export const cursors = { after: Cursor, before: Cursor }
const page = { sort: Type.Optional(Type.Enum([...sorts])), ...cursors }

export const clientAndDays = { clientId: ClientFilter, from: Day, until: Day }
const closed = { additionalProperties: false }
/** The filters of the merchants' API without `paymentMethod`, with days instead of moments, and with a payment link. */
const transactionFilters = {
  ...clientAndDays,
  linkId: Type.Optional(Type.String({ format: 'uuid-any' })),
  ...omit(ListTransactionsQuery.properties, 'startDate', 'endDate', 'page', 'perPage', 'cursor', 'paymentMethod'),
}
const TransactionFilters = Type.Object(transactionFilters, closed)
const TransactionPage = Type.Object({ ...transactionFilters, ...page }, closed)
const withdrawalFilters = {
  ...clientAndDays,
  ...omit(ListWithdrawalsQuery.properties, 'startDate', 'endDate', 'page', 'perPage', 'cursor'),
}
const WithdrawalFilters = Type.Object(withdrawalFilters, closed)
const WithdrawalPage = Type.Object({ ...withdrawalFilters, ...page }, closed)

function omit<All extends object, Name extends keyof All>(all: All, ...names: Name[]): Omit<All, Name> {
  const left = { ...all }
  for (const name of names) delete left[name]
  return left
}

const hidden = { hide: true, querystring: NoQuery }
const failures = problems(401, 403, 404, 422)

/**
 * The lists of transactions and withdrawals, of one merchant or of all. Their filters are in the body, because they may
 * be personal data, and proxies log addresses.
 */
export function registerListRoutes(app: Server, deps: Deps): void {
  registerTransactions(app, deps)
  registerWithdrawals(app, deps)
}

function registerTransactions(app: Server, deps: Deps): void {
  const { reads } = deps
  const access = { permission: 'transaction.read' }
  const match = async (user: SignedIn, body: Static<typeof TransactionFilters>) => {
    const { clientId, from, until, linkId, ...filters } = body
    const merchantId = await findShownMerchantId(deps, user, clientId)
    if (merchantId === null && filters.customerName !== undefined)
      throw invalidField('customerName', 'invalid', 'needs a merchant: names are searched within one')
    const known = { ...toTransactionFilters(filters), ...toDates({ from, until }), linkId }
    return matchingTransactions(known, { merchantId, reader: user.id })
  }

  app.post(
    '/dashboard/api/list/transaction',
    {
      config: { access },
      schema: { ...hidden, body: TransactionPage, response: { 200: TransactionsView, ...failures } },
    },
    async (request) => {
      const { sort, after, before, ...filters } = request.body
      const matching = await match(userOf(request), filters)
      const found = await readPage(reads, matching, { sort, after, before }, findListedTransactions)
      const data = found.items.map((row) => ({
        ...row,
        createdAt: row.createdAt.toISOString(),
        paidAt: row.paidAt?.toISOString() ?? null,
      }))
      return { next: found.next, previous: found.previous, data }
    },
  )

  app.post(
    '/dashboard/api/list/transaction/summary',
    {
      config: { access },
      schema: { ...hidden, body: TransactionFilters, response: { 200: ListSummaryView, ...failures } },
    },
    async (request) => {
      const { status, ...filters } = request.body
      const user = userOf(request)
      const ofAnyStatus = await match(user, filters)
      const { clientId: _, from, until, ...others } = filters
      const isCounted = Object.keys(others).length === 0
      const counts = isCounted
        ? await countTransactions(reads, ofAnyStatus, { from, until })
        : await countStatuses(reads, ofAnyStatus)
      const counted = isCounted ? addCounts(counts, status) : null
      const isTooWide = counted !== null && counted.count > summedMax
      return toSummary(counts, isTooWide ? null : await sumRows(reads, await match(user, request.body)), counted)
    },
  )
}

const unpaid = ['PENDING', 'PIX_QRCODE_GENERATED', 'FAILED']

function addCounts(counts: StatusCount[], status: string[] | undefined) {
  const chosen = counts.filter((one) => status === undefined || status.includes(one.status))
  const sum = (rows: StatusCount[], name: 'count' | 'amount') => rows.reduce((total, row) => total + row[name], 0)
  const settled = sum(
    chosen.filter((one) => !unpaid.includes(one.status)),
    'amount',
  )
  return { count: sum(chosen, 'count'), amount: sum(chosen, 'amount'), settled }
}

function registerWithdrawals(app: Server, deps: Deps): void {
  const { reads } = deps
  const access = { permission: 'withdrawal.read' }
  const match = async (user: SignedIn, body: Static<typeof WithdrawalFilters>) => {
    const { clientId, from, until, ...filters } = body
    const merchantId = await findShownMerchantId(deps, user, clientId)
    const known = { ...toWithdrawalFilters(filters), ...toDates({ from, until }) }
    return matchingWithdrawals(known, { merchantId, reader: user.id })
  }

  app.post(
    '/dashboard/api/list/withdrawal',
    {
      config: { access },
      schema: { ...hidden, body: WithdrawalPage, response: { 200: WithdrawalsView, ...failures } },
    },
    async (request) => {
      const { sort, after, before, ...filters } = request.body
      const matching = await match(userOf(request), filters)
      const found = await readPage(reads, matching, { sort, after, before }, findListedWithdrawals)
      const data = found.items.map((row) => ({ ...row, createdAt: row.createdAt.toISOString() }))
      return { next: found.next, previous: found.previous, data }
    },
  )

  app.post(
    '/dashboard/api/list/withdrawal/summary',
    {
      config: { access },
      schema: { ...hidden, body: WithdrawalFilters, response: { 200: ListSummaryView, ...failures } },
    },
    async (request) => {
      const user = userOf(request)
      const { status: _, ...filters } = request.body
      const counts = await countStatuses(reads, await match(user, filters))
      return toSummary(counts, await sumRows(reads, await match(user, request.body)), null)
    },
  )
}
