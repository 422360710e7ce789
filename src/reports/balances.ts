import type { Reads } from '../db/sql.ts'
import { listDayBalances } from '../ledger/export-store.ts'
import { findBalancesAt } from '../ledger/store.ts'
import { dayOf, nextDay, windowOf } from '../lib/brasilia.ts'
import type { Clock } from '../lib/clock.ts'

const dayMs = 24 * 60 * 60_000

export type DayEndBalances = { day: string; available: number; reserved: number; blocked: number }

/** A merchant's balances at the end of each of the last days, in Brasília; today's are those of now. */
export async function listDayEndBalances(
  { reads, clock }: { reads: Reads; clock: Clock },
  { merchantId, days }: { merchantId: string; days: number },
): Promise<DayEndBalances[]> {
  const now = clock.now()
  const first = dayOf(new Date(now.getTime() - (days - 1) * dayMs))
  const { from } = windowOf(first)
  const [opening, changes] = await Promise.all([
    findBalancesAt(reads, merchantId, new Date(from.getTime() - 1)),
    listDayBalances(reads, merchantId, from),
  ])
  const found: DayEndBalances[] = []
  let last = { available: opening.available, reserved: opening.reserved, blocked: opening.blocked }
  for (let day = first; day <= dayOf(now); day = nextDay(day)) {
    const ofDay = Object.fromEntries(
      changes.filter((change) => change.day === day).map(({ account, balance }) => [account, balance]),
    )
    last = { ...last, ...ofDay }
    found.push({ day, ...last })
  }
  return found
}
