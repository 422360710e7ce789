import { type Logger, pino } from 'pino'
import { receiverAccount, receiverKey, simulatorCredentials } from '../../simulator/receiver-account.ts'
import type { Acquirer } from '../../src/acquirers/acquirer.ts'
import { createBacenAcquirer } from '../../src/acquirers/bacen/adapter.ts'
import type { Send } from '../../src/acquirers/bacen/http.ts'
import { createRegistry } from '../../src/acquirers/registry.ts'
import { type Db, sql } from '../../src/db/sql.ts'
import type { SecretKey } from '../../src/lib/secrets.ts'
import type { CloseDeps } from '../../src/reconciliation/close.ts'
import type { DifferenceRow } from '../../src/reconciliation/store.ts'
import { createSettlement, type SettleDeps } from '../../src/transactions/settle.ts'
import type { ManualClock } from './clock.ts'
import { agreedFees } from './generated-day.ts'

export type Reconciling = CloseDeps & SettleDeps & { acquirer: Acquirer; clock: ManualClock }

/** The functions of reconciliation, on a database, with a bank that answers by `send`. */
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

/** All discrepancies of an acquirer, newest first. */
export async function listDifferences(
  db: Db,
  { acquirer, isOpen }: { acquirer: string; isOpen: boolean },
): Promise<DifferenceRow[]> {
  return await db.query<DifferenceRow>(sql`
    select * from differences where acquirer = ${acquirer} and (not ${isOpen} or state = 'open')
    order by found_at desc, at desc, id`)
}
