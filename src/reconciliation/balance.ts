import { Gauge, type Registry } from 'prom-client'
import type { Acquirer } from '../acquirers/acquirer.ts'
import type { Db } from '../db/sql.ts'
import { findClearingBalances } from '../ledger/clearing-store.ts'
import type { Clock } from '../lib/clock.ts'
import { keepComparedBalances, listComparedBalances, saveComparedBalance, sumDisputed } from './balance-store.ts'

/** The balance of an account by the PSP and by the ledger, in cents. */
export type ComparedBalance = {
  acquirer: string
  at: string
  /** By the PSP: what can be sent, what it blocks, and the disputed part of that; null where it does not report it. */
  available: number
  blocked: number | null
  disputed: number | null
  /** By the ledger: the clearing accounts, and the amount that disputes block. */
  ledgerBalance: number
  ledgerDisputed: number
  /** The PSP's balance minus the ledger's. */
  difference: number
}

/**
 * Compares the balance of the account at the PSP with its clearing accounts, and stores the result. It changes no
 * balance: a difference is a PSP fee, a draw or a pay-in that nobody has recorded, or money in transit. Null where the
 * PSP does not report its balance.
 *
 * @throws {AcquirerUnavailable} when the PSP does not answer
 */
export async function compareBalance(
  { db, clock }: { db: Db; clock: Clock },
  acquirer: Pick<Acquirer, 'name' | 'readBalance'>,
): Promise<ComparedBalance | null> {
  const { name, readBalance } = acquirer
  if (!readBalance) return null
  const before = (await findClearingBalances(db)).get(name) ?? 0
  const balance = await readBalance()
  const ledgerBalance = (await findClearingBalances(db)).get(name) ?? 0
  const total = balance.available + (balance.blocked ?? 0)
  // Payments may be posted while the PSP answers: a balance between the two readings is not a difference.
  const isBetween = total >= Math.min(before, ledgerBalance) && total <= Math.max(before, ledgerBalance)
  const compared = {
    acquirer: name,
    at: clock.now().toISOString(),
    ...balance,
    ledgerBalance,
    ledgerDisputed: await sumDisputed(db, name),
    difference: isBetween ? 0 : total - ledgerBalance,
  }
  await saveComparedBalance(db, compared)
  return compared
}

/** The last comparison of an acquirer that is no longer configured, or no longer reports its balance, says nothing. */
export async function forgetOtherBalances(
  db: Db,
  acquirers: readonly Pick<Acquirer, 'name' | 'readBalance'>[],
): Promise<void> {
  await keepComparedBalances(
    db,
    acquirers.filter(({ readBalance }) => readBalance !== null).map(({ name }) => name),
  )
}

export function observeBalances({
  db,
  clock,
  registry,
  acquirers,
}: {
  db: Db
  clock: Clock
  registry: Registry
  acquirers: readonly Pick<Acquirer, 'name' | 'readBalance'>[]
}): void {
  const registers = [registry]
  const listConfigured = async () =>
    (await listComparedBalances(db)).filter(({ acquirer }) => acquirers.some(({ name }) => name === acquirer))
  const gauge = (name: string, help: string, read: (one: ComparedBalance) => Record<string, number | null>) =>
    new Gauge({
      name,
      help,
      aggregator: 'max',
      labelNames: ['acquirer', 'side'],
      registers,
      async collect() {
        this.reset()
        for (const one of await listConfigured()) {
          for (const [side, cents] of Object.entries(read(one)))
            if (cents !== null) this.set({ acquirer: one.acquirer, side }, cents)
        }
      },
    })
  gauge('guiche_acquirer_balance_cents', 'Balance of the account at the PSP, by the PSP and by the ledger', (one) => ({
    acquirer: one.available + (one.blocked ?? 0),
    ledger: one.ledgerBalance,
  }))
  gauge(
    'guiche_acquirer_disputed_cents',
    'The part of the balance at the PSP that is blocked under MED, by the PSP and by the ledger',
    (one) => ({
      acquirer: one.disputed,
      ledger: one.ledgerDisputed,
    }),
  )
  const ofAcquirers = (name: string, help: string, collect: (this: Gauge) => Promise<void>) =>
    new Gauge({
      name,
      help,
      aggregator: 'max',
      labelNames: ['acquirer'],
      registers,
      async collect() {
        this.reset()
        await collect.call(this)
      },
    })
  ofAcquirers(
    'guiche_acquirer_balance_difference_cents',
    'Balance at the PSP minus balance in the ledger',
    async function () {
      for (const { acquirer, difference } of await listConfigured()) this.set({ acquirer }, difference)
    },
  )
  ofAcquirers(
    'guiche_acquirer_disputed_difference_cents',
    'Cents that the PSP blocks under MED minus those that are blocked in the ledger; absent if the PSP does not report it',
    async function () {
      for (const { acquirer, disputed, ledgerDisputed } of await listConfigured())
        if (disputed !== null) this.set({ acquirer }, disputed - ledgerDisputed)
    },
  )
  const startedAt = clock.now()
  ofAcquirers(
    'guiche_acquirer_balance_age_seconds',
    'Seconds since the balance at the PSP was last compared, or since the start if it never was; absent if the PSP does not report it',
    async function () {
      const compared = await listComparedBalances(db)
      for (const { name } of acquirers.filter(({ readBalance }) => readBalance !== null)) {
        const last = compared.find(({ acquirer }) => acquirer === name)
        const since = last ? Date.parse(last.at) : startedAt.getTime()
        this.set({ acquirer: name }, Math.max(0, (clock.now().getTime() - since) / 1000))
      }
    },
  )
}
