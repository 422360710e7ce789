import type { Transaction } from '@guiche/sdk'
import type { Explanation } from '../../../../src/explain/explain.ts'
import { RefundButton } from './refund.tsx'
import { WithdrawalActions } from './withdrawal.tsx'

/** What can be done about a record, as far as whoever is signed in may. */
export function RecordActions({
  told,
  transaction,
}: {
  told: Pick<Explanation, 'id' | 'type' | 'status'>
  transaction: Transaction | undefined
}) {
  if (told.type === 'withdrawal') return <WithdrawalActions id={told.id} />
  // They are asked for one after the other: the button goes with the first that knows better.
  const mayBeRefunded = told.status === 'PAID' || told.status === 'INFRACTION'
  return transaction && mayBeRefunded ? <RefundButton transaction={transaction} /> : null
}
