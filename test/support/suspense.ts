import { expect } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import type { Balances } from '../../src/ledger/accounts.ts'
import { findBalances } from '../../src/ledger/store.ts'
import { operatorMerchantId } from '../../src/suspense/status.ts'
import type { SuspenseRow } from '../../src/suspense/store.ts'
import { type Charged, charge, payAt } from './payments.ts'
import type { TestService } from './service.ts'
import { eventually } from './webhooks.ts'

/** The customer who is the simulated bank's default payer. */
export const payingCustomer = {
  name: 'Maria Aparecida da Silva',
  document: '529.982.247-25',
  email: 'maria@example.com',
}

type Paid = Charged & { endToEnd: string }

/** Creates a charge and pays it: without its txid, or twice. Returns the endToEndId of the first payment. */
export async function payWithFault(
  service: TestService,
  behaviour: 'without_txid' | 'twice',
  more: Record<string, unknown> = {},
): Promise<Paid> {
  const charged = await charge(service, more)
  const { status, body, text } = await payAt(service, charged.uri, { behaviour })
  expect(status, text).toBe(200)
  return { ...charged, endToEnd: body.endToEndId }
}

/** A payment without a charge, in suspense. */
export async function payUnattributed(
  service: TestService,
  more: Record<string, unknown> = {},
): Promise<Paid & { suspended: SuspenseRow }> {
  const paid = await payWithFault(service, 'without_txid', more)
  return { ...paid, suspended: await untilSuspense(service, paid.endToEnd, 'held') }
}

export async function findSuspenseOf(service: TestService, endToEnd: string): Promise<SuspenseRow | null> {
  const [row] = await service.db.query<SuspenseRow>(sql`
    select * from suspense_payments where end_to_end = ${endToEnd}`)
  return row ?? null
}

export async function untilSuspense(service: TestService, endToEnd: string, status: string): Promise<SuspenseRow> {
  let row: SuspenseRow | null = null
  await eventually(
    async () => {
      row = await findSuspenseOf(service, endToEnd)
      return row?.status === status
    },
    () => `${endToEnd} is ${row?.status ?? 'not in suspense'}, not ${status}`,
  )
  if (!row) throw new Error('it was there a moment ago')
  return row
}

/** Advances the clock minute by minute, and runs the check of returns each time, until the payment is returned. */
export async function untilReturned(service: TestService, endToEnd: string): Promise<SuspenseRow> {
  await eventually(async () => {
    service.clock.advance(60_000)
    await service.runJob('suspense.check')
    return (await findSuspenseOf(service, endToEnd))?.status === 'returned'
  })
  return await untilSuspense(service, endToEnd, 'returned')
}

export async function operatorBalances(service: TestService): Promise<Balances> {
  return await findBalances(service.db, operatorMerchantId)
}
