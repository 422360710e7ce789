import { Alert, Group, Skeleton, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { request, withQuery } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { Status } from '../../components/status.tsx'
import { useFormat } from '../../format.ts'
import { useText } from '../../text.ts'
import type { AttributionPreview, PaymentView } from '../../types.ts'
import { words } from './suspense-text.ts'

/** Shows the charge, the amount and the payer, and attributes the payment to the charge once that is confirmed. */
export function AttributionDialog({
  payment,
  transactionId,
  onClose,
}: {
  payment: PaymentView
  transactionId: string
  onClose: () => void
}) {
  const t = useText(words)
  const format = useFormat()
  const needsApproval = payment.amount > payment.approvalAbove
  const queries = useQueryClient()
  const preview = useQuery({
    queryKey: ['match', payment.id, transactionId],
    queryFn: async () =>
      await request<AttributionPreview>('GET', withQuery(`/suspense/${payment.id}/match`, { transactionId })),
    staleTime: 0,
    gcTime: 0,
  })
  const match = useMutation({
    mutationFn: async () => await request('POST', `/suspense/${payment.id}/match`, { transactionId }),
    onSuccess: async () => {
      onClose()
      await queries.invalidateQueries({ queryKey: ['reconciliation'] })
      await queries.invalidateQueries({ queryKey: ['proposals'] })
    },
  })
  return (
    <Confirm
      title={t.matchTitle}
      isOpen
      onClose={onClose}
      confirm={needsApproval ? t.proposeMatch : t.confirmMatch}
      action={{ ...match, error: match.error ?? preview.error }}
      isReady={preview.isSuccess}
    >
      {preview.isPending && <Skeleton height={140} />}
      {needsApproval && <Alert color="blue">{t.needsApproval(format.money(payment.approvalAbove))}</Alert>}
      {preview.data && <TransactionSummary payment={payment} preview={preview.data} />}
    </Confirm>
  )
}

function TransactionSummary({
  payment,
  preview: { transaction, amount, fee },
}: {
  payment: PaymentView
  preview: AttributionPreview
}) {
  const t = useText(words)
  const format = useFormat()
  const rows = [
    [t.customer, transaction.customerName],
    [t.code, transaction.externalCode],
    [t.amount, format.money(transaction.amount)],
    [t.charge, transaction.id],
  ].filter(([, value]) => value !== null)
  return (
    <>
      <Text size="sm">
        {t.matchLead(format.money(amount), payment.payer?.name ?? t.thePayer, transaction.clientName)}{' '}
        {fee > 0 && t.fee(format.money(fee))}
      </Text>
      {transaction.amount !== amount && (
        <Alert color="orange">{t.otherAmount(format.money(transaction.amount), format.money(amount))}</Alert>
      )}
      <div className="card" style={{ padding: 'var(--mantine-spacing-sm)' }}>
        <Group justify="space-between" mb={4}>
          <Text size="sm" fw={600}>
            {transaction.clientName}
          </Text>
          <Status of={transaction.status} />
        </Group>
        {rows.map(([name, value]) => (
          <Group key={name} justify="space-between" gap="xs">
            <Text size="sm" c="dimmed">
              {name}
            </Text>
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              {value}
            </Text>
          </Group>
        ))}
      </div>
    </>
  )
}
