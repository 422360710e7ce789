import { Text, Textarea, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask, faultsOf } from '../../api.ts'
import { useClients } from '../../components/client-switch.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { useSentence } from '../../components/error-notice.tsx'
import { MoneyInput } from '../../components/money-input.tsx'
import { Status } from '../../components/status.tsx'
import { useFormat } from '../../format.ts'
import { useText } from '../../text.ts'
import type { ExplainedRecord } from '../../types.ts'
import { words } from './text.ts'

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/** Records a dispute manually, after showing whose payment it is. */
export function EnterDispute({ onClose }: { onClose: () => void }) {
  const t = useText(words)
  const format = useFormat()
  const sentence = useSentence()
  const queries = useQueryClient()
  const clients = useClients()
  const nameOf = (clientId: string) => clients.data?.find((one) => one.clientId === clientId)?.name ?? clientId
  const [text, setText] = useState('')
  const [amount, setAmount] = useState<number | null>(null)
  const [reason, setReason] = useState('')
  const transactionId = text.trim()
  const found = useQuery({
    queryKey: ['record', transactionId],
    queryFn: async () =>
      await ask<Pick<ExplainedRecord, 'type' | 'amount' | 'clientId' | 'status'>>('GET', `/record/${transactionId}`),
    enabled: uuid.test(transactionId),
  })
  const entering = useMutation({
    mutationFn: async () =>
      await ask('POST', '/infraction', {
        transactionId,
        ...(amount !== null && { amount }),
        ...(reason.trim() !== '' && { reason: reason.trim() }),
      }),
    onSuccess: async () => {
      await queries.invalidateQueries()
      onClose()
    },
  })
  const record = found.data?.type === 'transaction' ? found.data : null
  const faults = faultsOf(entering.error)
  return (
    <Confirm
      title={t.enterTitle}
      isOpen
      onClose={onClose}
      confirm={t.block}
      isDangerous
      isPending={entering.isPending}
      isReady={record !== null}
      error={entering.error}
      onConfirm={() => entering.mutate()}
    >
      <Text size="sm">{t.enterLead}</Text>
      <TextInput
        label={t.transactionId}
        required
        data-autofocus
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        error={found.error ? sentence(found.error) : undefined}
      />
      {record && (
        <Text size="sm" component="div">
          {t.find(format.money(record.amount), nameOf(record.clientId))} <Status of={record.status} />
        </Text>
      )}
      <MoneyInput label={t.part} description={t.partHint} value={amount} onChange={setAmount} error={faults.amount} />
      <Textarea
        label={t.reason}
        maxLength={255}
        value={reason}
        onChange={(event) => setReason(event.currentTarget.value)}
        error={faults.reason}
      />
    </Confirm>
  )
}
