import { Text, Textarea, TextInput } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { request } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { useSentence } from '../../components/error-notice.tsx'
import { useMutationForm } from '../../components/form.tsx'
import { useMerchants } from '../../components/merchant-switch.tsx'
import { MoneyInput } from '../../components/money-input.tsx'
import { Status } from '../../components/status.tsx'
import { useFormat } from '../../format.ts'
import { useText } from '../../text.ts'
import type { ExplainedRecord } from '../../types.ts'
import { words } from './text.ts'

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/** Records a dispute manually. Shows first whose payment it is. */
export function EnterDispute({
  newId,
  onEntered,
  onClose,
}: {
  newId: string
  onEntered: () => void
  onClose: () => void
}) {
  const t = useText(words)
  const format = useFormat()
  const sentence = useSentence()
  const queries = useQueryClient()
  const clients = useMerchants()
  const nameOf = (clientId: string) => clients.data?.find((one) => one.clientId === clientId)?.name ?? clientId
  const entering = useMutationForm({
    initialValues: { transactionId: '', amount: null as number | null, reason: '' },
    send: async ({ transactionId: id, amount, reason }) =>
      await request('POST', '/infraction', {
        id: newId,
        transactionId: id.trim(),
        ...(amount !== null && { amount }),
        ...(reason.trim() !== '' && { reason: reason.trim() }),
      }),
    onSuccess: async () => {
      onEntered()
      await queries.invalidateQueries()
      onClose()
    },
  })
  const transactionId = entering.values.transactionId.trim()
  const found = useQuery({
    queryKey: ['record', transactionId],
    queryFn: async () =>
      await request<Pick<ExplainedRecord, 'type' | 'amount' | 'clientId' | 'status'>>(
        'GET',
        `/record/${transactionId}`,
      ),
    enabled: uuid.test(transactionId),
  })
  const idInput = entering.input('transactionId')
  const record = found.data?.type === 'transaction' ? found.data : null
  return (
    <Confirm
      title={t.enterTitle}
      isOpen
      onClose={onClose}
      confirm={t.block}
      isDangerous
      action={entering}
      isReady={record !== null}
    >
      <Text size="sm">{t.enterLead}</Text>
      <TextInput
        {...idInput}
        label={t.transactionId}
        required
        data-autofocus
        error={found.error ? sentence(found.error) : found.data && !record ? t.notTransaction : idInput.error}
      />
      {record && (
        <Text size="sm" component="div">
          {t.paymentOf(format.money(record.amount), nameOf(record.clientId))} <Status of={record.status} />
        </Text>
      )}
      <MoneyInput {...entering.input('amount')} label={t.part} description={t.partHint} />
      <Textarea {...entering.input('reason')} label={t.reason} maxLength={255} />
    </Confirm>
  )
}
