import { expect, it } from 'vitest'
import type { Balances } from '../ledger/accounts.ts'
import { paid, paymentReversed } from '../ledger/transfers.ts'
import { toStatement } from './statement.ts'

const none: Balances = { acquirer: 0, available: 0, blocked: 0, debt: 0, fees: 0, reserved: 0, suspense: 0 }

it.each([0, 10, 42])('shows the fee of a reversed attribution on one line, with %d cents of it in the fees', (fees) => {
  const posted = paid(1_000, 42)(none).map((transfer) => ({ ...transfer, record_type: 'transaction' as const }))
  const balances = { ...none, available: 958, fees }
  const reversed = paymentReversed(1_000, 42, () => {})(balances).map((transfer) => ({
    ...transfer,
    record_type: 'refund' as const,
  }))
  const records = [...posted, ...reversed].map((transfer) => ({ ...transfer, event_key: '', created_at: new Date() }))
  expect(toStatement(records)).toEqual({
    lines: [
      { line: 'paid', amount: 1_000 },
      { line: 'fee', amount: -42 },
      { line: 'feeReturned', amount: 42 },
      { line: 'attributionReversed', amount: -1_000 },
    ],
    net: 0,
  })
})
