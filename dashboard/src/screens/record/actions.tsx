import type { Transaction } from '@guiche/sdk'
import type { ExplainedRecord } from '../../types.ts'
import { CancelButton } from './cancel.tsx'
import { RefundButton } from './refund.tsx'
import { WithdrawalActions } from './withdrawal.tsx'

/** The actions for a record that the user has the permissions for. */
export function RecordActions({
  record,
  transaction,
}: {
  record: Pick<ExplainedRecord, 'id' | 'type' | 'status'>
  transaction: Transaction | undefined
}) {
  if (record.type === 'withdrawal') return <WithdrawalActions id={record.id} />
  if (transaction && record.status === 'PIX_QRCODE_GENERATED')
    return <CancelButton id={transaction.id} amount={transaction.amount} />
  // The record and the transaction are separate queries. The button disappears as soon as one of them has a newer status.
  const mayBeRefunded = record.status === 'PAID' || record.status === 'INFRACTION'
  return transaction && mayBeRefunded ? <RefundButton transaction={transaction} /> : null
}
