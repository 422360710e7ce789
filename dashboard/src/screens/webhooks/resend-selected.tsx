import { Button, Group, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { request } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { useMutationForm } from '../../components/form.tsx'
import { ResultDialog, SelectedList, type Selection, SelectionBar } from '../../components/selection.tsx'
import { useFormat } from '../../format.ts'
import { newUuid } from '../../idempotency.ts'
import { texts, useText } from '../../text.ts'
import type { Deliveries } from '../../types.ts'
import { Sent } from './resend-many.tsx'
import { hostOf } from './state.tsx'
import { words as webhookWords } from './text.ts'

const words = texts({
  en: {
    title: (count: number, text: string) => (count === 1 ? 'Resend 1 delivery?' : `Resend ${text} deliveries?`),
    lead: 'They are sent now, in the order of their events.',
    twice: (count: number, text: string) =>
      count === 1
        ? '1 was already delivered: your receiver gets it twice.'
        : `${text} were already delivered: your receiver gets them twice.`,
    left: (count: number, text: string) =>
      count === 1
        ? '1 was not resent: it has changed in the meantime, or its endpoint is disabled.'
        : `${text} were not resent: they have changed in the meantime, or their endpoint is disabled.`,
  },
  pt: {
    title: (count: number, text: string) => (count === 1 ? 'Reenviar 1 entrega?' : `Reenviar ${text} entregas?`),
    lead: 'O reenvio começa agora, na ordem dos eventos.',
    twice: (count: number, text: string) =>
      count === 1
        ? '1 já foi entregue: o seu receptor vai recebê-la duas vezes.'
        : `${text} já foram entregues: o seu receptor vai recebê-las duas vezes.`,
    left: (count: number, text: string) =>
      count === 1
        ? '1 não foi reenviada: mudou nesse meio-tempo ou o endpoint está desativado.'
        : `${text} não foram reenviadas: mudaram nesse meio-tempo ou o endpoint está desativado.`,
  },
})

export type Delivery = Deliveries['data'][number]

/** Not in the state `waiting`: it is sent automatically once the earlier deliveries of its record are over. */
export const isResendable = ({ state }: Delivery) => state !== 'waiting'

/** The button that resends the selected deliveries, and their progress. */
export function ResendSelected({ client, selection }: { client: string; selection: Selection<Delivery> }) {
  const t = useText(webhookWords)
  const format = useFormat()
  // The selection as it was when the dialog opened: the list may change meanwhile.
  const [resending, setResending] = useState<Delivery[] | null>(null)
  const { selected, choose } = selection
  return (
    <>
      <SelectionBar of={selection}>
        <Button onClick={() => setResending(selected)}>{t.sendMany(format.number(selected.length))}</Button>
      </SelectionBar>
      {resending && (
        <Dialog client={client} deliveries={resending} onSent={() => choose([])} onClose={() => setResending(null)} />
      )}
    </>
  )
}

function Dialog({
  client,
  deliveries,
  onSent,
  onClose,
}: {
  client: string
  deliveries: Delivery[]
  onSent: () => void
  onClose: () => void
}) {
  const t = useText(words)
  const common = useText(webhookWords)
  const format = useFormat()
  const queries = useQueryClient()
  // Created when the dialog opens, so that a second click repeats the same request.
  const [resendId] = useState(newUuid)
  const send = useMutationForm({
    initialValues: {},
    send: async () =>
      await request<{ count: number }>('PUT', `/webhook/resend/${resendId}/selection`, {
        clientId: client,
        deliveries: deliveries.map(({ eventId, endpointId }) => ({ eventId, endpointId })),
      }),
    onSuccess: async () => {
      onSent()
      await queries.invalidateQueries({ queryKey: ['deliveries'] })
    },
  })
  if (send.data?.count === 0) return <ResultDialog sentence={common.noneResent} onClose={onClose} />
  if (send.data) {
    const left = deliveries.length - send.data.count
    return (
      <Sent resendId={resendId} client={client} count={send.data.count} onClose={onClose}>
        {left > 0 && <Text size="sm">{t.left(left, format.number(left))}</Text>}
      </Sent>
    )
  }
  const hosts = [...new Set(deliveries.map(({ url }) => hostOf(url)))]
  const twice = deliveries.filter(({ state }) => state === 'delivered').length
  return (
    <Confirm
      title={t.title(deliveries.length, format.number(deliveries.length))}
      isOpen
      onClose={onClose}
      confirm={common.sendMany(format.number(deliveries.length))}
      action={send}
    >
      <Text size="sm">{t.lead}</Text>
      <SelectedList
        rows={hosts.map((host) => ({
          key: host,
          content: (
            <Group justify="space-between" wrap="nowrap" gap="sm">
              <Text size="sm" className="identifier" style={{ minWidth: 0, overflowWrap: 'anywhere' }}>
                {host}
              </Text>
              <Text size="sm">{format.number(deliveries.filter(({ url }) => hostOf(url) === host).length)}</Text>
            </Group>
          ),
        }))}
      />
      {twice > 0 && <Text size="sm">{t.twice(twice, format.number(twice))}</Text>}
    </Confirm>
  )
}
