import { Type } from 'typebox'
import type { Acquirers } from '../acquirers/registry.ts'
import { byUser } from '../audit/record.ts'
import { toReason } from '../explain/sentences.ts'
import { userOf } from '../http/caller.ts'
import { toDate } from '../http/formats.ts'
import { DateTimeFilter, NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { isJobOpen } from '../jobs/store.ts'
import { findBalances } from '../ledger/store.ts'
import { dayOf } from '../lib/brasilia.ts'
import { AppError, invalidField } from '../lib/errors.ts'
import {
  confirmListedDiscrepancy,
  dismissListedDiscrepancy,
  findDiscrepancy,
  toDiscrepancyView,
} from '../operator/discrepancies.ts'
import {
  findRun,
  findStatementOfRun,
  type ListedDiscrepancy,
  listDiscrepancyPage,
  listLatestRuns,
  listRuns,
  type RunRow,
} from '../operator/reconciliation-store.ts'
import { classNames } from '../reconciliation/classes.ts'
import { correctionOf } from '../reconciliation/decide.ts'
import { keyOfRun, requestRun } from '../reconciliation/requested-run.ts'
import { countOpen, type DiscrepancyState } from '../reconciliation/store.ts'
import { countOpenSuspense } from '../suspense/store.ts'
import type { SettleDeps } from '../transactions/settle.ts'
import {
  type DiscrepancyDetail,
  DiscrepancyDetailView,
  DiscrepancyView,
  ProposedView,
  ReconciliationView,
  RequestedRunView,
  RunView,
} from './operator-schema.ts'
import { IdView, PageOf } from './schema.ts'

const perPage = 20
/** The longest period of one manual run. For more, start several. */
const windowMaxMs = 92 * 24 * 60 * 60_000
const Params = Type.Object({ id: Type.String({ format: 'uuid-any' }) })
const Page = Type.Optional(Type.Integer({ minimum: 1, maximum: 1e6 }))
const AcquirerName = Type.String({ minLength: 1, maxLength: 64 })
const reading = { access: { permission: 'reconciliation.read' } } as const
const deciding = { access: { permission: 'reconciliation.decide' } } as const

/** Which states a list shows. */
const statesOf: Record<'open' | 'decided' | 'resolved', DiscrepancyState[]> = {
  open: ['open'],
  decided: ['confirmed', 'dismissed'],
  resolved: ['resolved'],
}

/**
 * Reconciliation: whether the acquirers and the ledger agree, and what to do where they do not. For the operator
 * only.
 */
export function registerReconciliationRoutes(app: Server, deps: SettleDeps): void {
  registerReading(app, deps)
  registerDecisions(app, deps)
  registerRuns(app, deps)
}

function registerReading(app: Server, deps: SettleDeps): void {
  const { db, clock, acquirers } = deps
  app.get(
    '/dashboard/api/reconciliation',
    {
      config: reading,
      schema: { hide: true, querystring: NoQuery, response: { 200: ReconciliationView, ...problems(401, 403) } },
    },
    async () => {
      const names = acquirers.all.map(({ name }) => name)
      const [open, runs, { held, returning }] = await Promise.all([
        countOpen(db),
        listLatestRuns(db, names),
        countOpenSuspense(db),
      ])
      return {
        acquirers: names,
        today: dayOf(clock.now()),
        open,
        runs: runs.map(toRunView),
        suspense: { held, returning },
      }
    },
  )

  app.get(
    '/dashboard/api/reconciliation/difference',
    {
      config: reading,
      schema: {
        hide: true,
        querystring: Type.Object(
          {
            state: Type.Enum(['open', 'decided', 'resolved']),
            class: Type.Optional(Type.Enum([...classNames])),
            acquirer: Type.Optional(AcquirerName),
            page: Page,
          },
          { additionalProperties: false },
        ),
        response: { 200: PageOf(DiscrepancyView), ...problems(401, 403, 422) },
      },
    },
    async (request) => {
      const { state, page = 1, class: name, acquirer } = request.query
      const filters = { states: statesOf[state], class: name, acquirer }
      const slice = { limit: perPage, offset: (page - 1) * perPage }
      const { total, items } = await listDiscrepancyPage(db, filters, slice)
      return { total, totalPages: Math.ceil(total / perPage), data: items.map(toDiscrepancyView) }
    },
  )

  app.get(
    '/dashboard/api/reconciliation/difference/:id',
    {
      config: reading,
      schema: {
        hide: true,
        params: Params,
        querystring: NoQuery,
        response: { 200: DiscrepancyDetailView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request): Promise<DiscrepancyDetail> => {
      const row = await findDiscrepancy(db, request.params.id)
      return { ...toDiscrepancyView(row), entries: await planEntries(deps, row) }
    },
  )
}

function registerDecisions(app: Server, deps: SettleDeps): void {
  const decision = {
    ...{ hide: true, params: Params, querystring: NoQuery },
    response: { 200: DiscrepancyView, ...problems(401, 403, 404, 422, 503) },
  }
  app.post(
    '/dashboard/api/reconciliation/difference/:id/confirmation',
    {
      config: deciding,
      schema: { ...decision, body: Type.Object({ proposal: ProposedView }, { additionalProperties: false }) },
    },
    async (request) => {
      const { proposal: shown } = request.body
      return await confirmListedDiscrepancy(deps, { id: request.params.id, by: byUser(userOf(request)), shown })
    },
  )

  app.post(
    '/dashboard/api/reconciliation/difference/:id/dismissal',
    {
      config: deciding,
      schema: {
        ...decision,
        body: Type.Object({ reason: Type.String({ minLength: 3, maxLength: 500 }) }, { additionalProperties: false }),
      },
    },
    async (request) => {
      const { reason } = request.body
      return await dismissListedDiscrepancy(deps, { id: request.params.id, by: byUser(userOf(request)), reason })
    },
  )
}

function registerRuns(app: Server, deps: SettleDeps): void {
  const { db } = deps
  app.get(
    '/dashboard/api/reconciliation/run',
    {
      config: reading,
      schema: {
        hide: true,
        querystring: Type.Object(
          { kind: Type.Optional(Type.Enum(['rolling', 'daily', 'manual'])), page: Page },
          { additionalProperties: false },
        ),
        response: { 200: PageOf(RunView), ...problems(401, 403, 422) },
      },
    },
    async (request) => {
      const { kind, page = 1 } = request.query
      const { total, items } = await listRuns(db, { kind, limit: perPage, offset: (page - 1) * perPage })
      return { total, totalPages: Math.ceil(total / perPage), data: items.map(toRunView) }
    },
  )

  app.post(
    '/dashboard/api/reconciliation/run',
    {
      config: deciding,
      schema: {
        hide: true,
        querystring: NoQuery,
        body: Type.Object(
          { acquirer: AcquirerName, from: DateTimeFilter('Start, inclusive'), to: DateTimeFilter('End, exclusive') },
          { additionalProperties: false },
        ),
        response: { 202: IdView, ...problems(401, 403, 404, 422) },
      },
    },
    async (request, reply) => {
      const { acquirer } = request.body
      assertKnown(deps, acquirer)
      const [from, to] = [toDate(request.body.from), toDate(request.body.to)]
      if (from >= to) throw invalidField('to', 'out_of_order', 'must be after `from`')
      if (to.getTime() - from.getTime() > windowMaxMs)
        throw invalidField('from', 'invalid', 'must be at most 92 days before `to`')
      const id = await requestRun(deps, { acquirer, window: { from, to }, by: byUser(userOf(request)) })
      return await reply.code(202).send({ id })
    },
  )

  app.get(
    '/dashboard/api/reconciliation/requested/:id',
    {
      config: reading,
      schema: {
        hide: true,
        params: Params,
        querystring: NoQuery,
        response: { 200: RequestedRunView, ...problems(401, 403, 422) },
      },
    },
    async (request): Promise<RequestedRunView> => {
      const id = request.params.id.toLowerCase()
      // The job is read before the run: otherwise one that ends in between would seem to have no run.
      const isUnderWay = await isJobOpen(db, keyOfRun(id))
      const run = await findRun(db, id)
      // The version of the closed day's statement, if the run was to close a day.
      const statement = isUnderWay ? null : await findStatementOfRun(db, id)
      return { id, isUnderWay, run: run && toRunView(run), version: statement?.version ?? null }
    },
  )
}

/** @throws {AppError} `not_found` */
export function assertKnown({ acquirers }: { acquirers: Acquirers }, name: string): void {
  if (acquirers.get(name)) return
  const names = acquirers.all.map((one) => one.name).join(', ')
  throw new AppError('not_found', { detail: `There is no acquirer ${name}. There are ${names}.` })
}

async function planEntries({ db }: SettleDeps, row: ListedDiscrepancy): Promise<DiscrepancyDetail['entries']> {
  const correction = row.state === 'open' ? correctionOf(row) : null
  if (!correction) return []
  const transfers = correction.transfers(await findBalances(db, correction.merchantId))
  return transfers.filter(({ amount }) => amount > 0).map(({ debit, credit, amount }) => ({ debit, credit, amount }))
}

function toRunView(row: RunRow): RunView {
  return {
    id: row.id,
    acquirer: row.acquirer,
    kind: row.kind,
    from: row.starts_at.toISOString(),
    to: row.ends_at.toISOString(),
    startedAt: row.started_at.toISOString(),
    finishedAt: row.finished_at?.toISOString() ?? null,
    state: row.state,
    error: toReason(row.error),
    compared: row.counts?.compared ?? null,
    counts: row.counts?.counts ?? {},
    newCount: row.counts?.newCount ?? 0,
  }
}
