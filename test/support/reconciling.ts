import { type Logger, pino } from 'pino'
import { expect } from 'vitest'
import { receiverAccount, receiverKey, simulatorCredentials } from '../../simulator/receiver-account.ts'
import type { Acquirer } from '../../src/acquirers/acquirer.ts'
import { createBacenAcquirer } from '../../src/acquirers/bacen/adapter.ts'
import type { Send } from '../../src/acquirers/bacen/http.ts'
import { createRegistry } from '../../src/acquirers/registry.ts'
import { type Db, sql } from '../../src/db/sql.ts'
import type { SecretKey } from '../../src/lib/secrets.ts'
import type { CloseDeps } from '../../src/reconciliation/close.ts'
import { confirmDiscrepancy } from '../../src/reconciliation/decide.ts'
import { reconcile } from '../../src/reconciliation/run.ts'
import type { DiscrepancyRow } from '../../src/reconciliation/store.ts'
import { createSettlement, type SettleDeps } from '../../src/transactions/settle.ts'
import { settleDepsWith } from './acquirer.ts'
import type { ManualClock } from './clock.ts'
import { agreedFees } from './generated-day.ts'
import type { TestService } from './service.ts'

export type Reconciling = CloseDeps & SettleDeps & { acquirer: Acquirer; clock: ManualClock }

/**
 * The dependencies of reconciliation for a test: a database, a clock, and an acquirer whose requests go to `send`.
 */
export function reconcilingWith(options: {
  db: Db
  clock: ManualClock
  send: Send
  name?: string
  fees?: Acquirer['fees']
  log?: Logger
}): Reconciling {
  const { db, clock, send, name = 'bank', fees = agreedFees, log = pino({ level: 'silent' }) } = options
  const acquirer = createBacenAcquirer({
    name,
    send,
    credentials: simulatorCredentials,
    chave: receiverKey,
    receiver: receiverAccount,
    isRemote: true,
    clock,
    fees,
    profile: { offers: { payouts: true } },
  })
  return {
    db,
    clock,
    log,
    acquirer,
    acquirers: createRegistry([acquirer]),
    key: { current: Buffer.alloc(32, 7), former: [] } satisfies SecretKey,
    settlement: createSettlement({ db, clock }),
    wakeDeliveries: () => {},
  }
}

/** The same, but a run awaits `meanwhile` after it has compared everything, before it resolves what it did not find. */
export function meanwhileAfterComparison<Deps extends { db: Db }>(deps: Deps, meanwhile: () => Promise<void>): Deps {
  const { db } = deps
  const query: typeof db.query = async (statement, name) => {
    // The first statement after the comparison.
    if (statement.text.includes('where run_id = $1 and window_count > 0')) await meanwhile()
    return await db.query(statement, name)
  }
  return { ...deps, db: { ...db, query } }
}

/** The discrepancies of an acquirer, newest first: all of them, or only the open ones. */
export async function listDiscrepancies(
  db: Db,
  { acquirer, onlyOpen }: { acquirer: string; onlyOpen: boolean },
): Promise<DiscrepancyRow[]> {
  return await db.query<DiscrepancyRow>(sql`
    select * from differences where acquirer = ${acquirer} and (not ${onlyOpen} or state = 'open')
    order by found_at desc, at desc, id`)
}

/**
 * Runs a reconciliation that finds a return of 400 cents which only the acquirer has, and confirms its proposal as an
 * operator. `beforeCommit` runs after both sides were compared again.
 */
export async function correctReturn(
  service: TestService,
  send: Send,
  endToEnd: string,
  { beforeCommit = async () => {} }: { beforeCommit?: () => Promise<unknown> } = {},
): Promise<void> {
  const deps = settleDepsWith(service, send)
  const [acquirer] = deps.acquirers.all
  if (!acquirer) throw new Error('the service has no acquirer')
  const from = new Date(service.clock.now().getTime() - 60_000)
  // Old enough that it no longer counts as merely late.
  service.clock.advance(20 * 60_000)
  await reconcile(deps, { acquirer, kind: 'manual', window: { from, to: service.clock.now() } })
  const open = await listDiscrepancies(service.db, { acquirer: acquirer.name, onlyOpen: true })
  const found = open.find(({ reference }) => reference === endToEnd)
  expect(found).toMatchObject({ class: 'return', proposal: { action: 'correct', cents: -400 } })
  const transaction: Db['transaction'] = async (work, lock) => {
    await beforeCommit()
    return await deps.db.transaction(work, lock)
  }
  await confirmDiscrepancy(
    { ...deps, db: { ...deps.db, transaction } },
    { id: found?.id ?? '', by: { actor: 'cli:maria' } },
  )
}
