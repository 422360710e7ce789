import { Skeleton, Stack, Text, Textarea } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { request } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { useMutationForm } from '../../components/form.tsx'
import { useFormat } from '../../format.ts'
import { useText } from '../../text.ts'
import type { DiscrepancyDetail, DiscrepancyView } from '../../types.ts'
import { words as ledgerWords } from '../ledger/text.ts'
import { words } from './text.ts'

type DialogProps = { difference: DiscrepancyView; onClose: () => void }

function useAfterDecision(onClose: () => void) {
  const queries = useQueryClient()
  return async () => {
    onClose()
    await queries.invalidateQueries({ queryKey: ['reconciliation'] })
    await queries.invalidateQueries({ queryKey: ['ledger'] })
  }
}

/** Shows exactly what will be done or posted, and does it once confirmed. */
export function ConfirmDiscrepancy({ difference: current, onClose }: DialogProps) {
  const t = useText(words)
  // As it was when the dialog opened: a reconciliation run may change the proposal meanwhile.
  const [difference] = useState(current)
  const { id, proposal } = difference
  const confirming = useMutation({
    mutationFn: async () => await request('POST', `/reconciliation/difference/${id}/confirmation`, { proposal }),
    onSuccess: useAfterDecision(onClose),
  })
  const isCorrection = proposal.action === 'correct'
  const detail = useQuery({
    queryKey: ['reconciliation', 'difference', id],
    queryFn: async () => await request<DiscrepancyDetail>('GET', `/reconciliation/difference/${id}`),
    enabled: isCorrection,
    staleTime: 0,
  })
  return (
    <Confirm
      title={t.confirmTitle}
      isOpen
      onClose={onClose}
      confirm={t.confirm}
      action={confirming}
      isReady={!isCorrection || detail.isSuccess}
    >
      {!isCorrection && (
        <Text size="sm">
          <ActionText difference={difference} />
        </Text>
      )}
      {isCorrection && <Text size="sm">{t.what.correct}</Text>}
      {detail.isError && <ErrorNotice error={detail.error} onRetry={() => void detail.refetch()} />}
      {isCorrection && detail.isPending && <Skeleton height={60} />}
      {isCorrection && detail.data && <Entries entries={detail.data.entries} difference={difference} />}
    </Confirm>
  )
}

function Entries({
  entries,
  difference: { proposal, client },
}: {
  entries: DiscrepancyDetail['entries']
  difference: DiscrepancyView
}) {
  const t = useText(words)
  const names = useText(ledgerWords).accountNames
  const format = useFormat()
  const isOfOperator = client === null || (proposal.action === 'correct' && proposal.account === 'house')
  return (
    <Stack gap={6}>
      {entries.map(({ debit, credit, amount }) => (
        <div key={`${debit} ${credit}`} className="card" style={{ padding: 'var(--mantine-spacing-sm)' }}>
          <Text fw={650}>{format.money(amount)}</Text>
          <Text size="sm">{t.fromTo(names[debit][0], names[credit][0])}</Text>
        </div>
      ))}
      <Text size="xs" c="dimmed">
        {isOfOperator ? t.ofOperator : t.ofClient(client.name)}
      </Text>
    </Stack>
  )
}

function ActionText({
  difference: { proposal, subject, acquirer, client, atAcquirer, inLedger },
}: {
  difference: DiscrepancyView
}) {
  const t = useText(words)
  const format = useFormat()
  const money = format.money((atAcquirer ?? inLedger)?.amount ?? 0)
  if (proposal.action === 'suspend')
    return proposal.kind === 'duplicate' ? t.what.suspendDuplicate(money) : t.what.suspendUnattributed(money)
  if (subject === 'payment') return t.what.settlePayment(acquirer, money, client?.name ?? t.aMerchant)
  return t.what.settleOther(acquirer)
}

export function DismissDiscrepancy({ difference, onClose }: DialogProps) {
  const t = useText(words)
  const dismissing = useMutationForm({
    initialValues: { reason: '' },
    send: async ({ reason }) =>
      await request('POST', `/reconciliation/difference/${difference.id}/dismissal`, { reason: reason.trim() }),
    onSuccess: useAfterDecision(onClose),
  })
  return (
    <Confirm
      title={t.dismiss}
      isOpen
      onClose={onClose}
      confirm={t.dismiss}
      action={dismissing}
      isReady={dismissing.values.reason.trim().length >= 3}
    >
      <Text size="sm">{t.dismissLead}</Text>
      <Textarea {...dismissing.input('reason')} label={t.reason} required maxLength={500} data-autofocus />
    </Confirm>
  )
}
