import type { WebhookTest } from '@guiche/sdk'
import { Button, Select, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { request } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { Copyable } from '../../components/copy.tsx'
import type { Fact } from '../../components/fact-list.tsx'
import { useMay } from '../../session.tsx'
import { texts, useText } from '../../text.ts'
import type { ExplainedRecord } from '../../types.ts'
import { eventTypes } from '../webhooks/state.tsx'
import { TestAnswer } from '../webhooks/test-answer.tsx'

const words = texts({
  en: {
    url: 'Webhook URL',
    test: 'Send a test event',
    again: 'Send again',
    type: 'Event',
    lead: 'A signed body of the type webhook.test is sent immediately. The chosen event is only in data.eventType, so your system does not treat it as a real event. The receiver’s answer appears here.',
  },
  pt: {
    url: 'URL do webhook',
    test: 'Enviar evento de teste',
    again: 'Enviar de novo',
    type: 'Evento',
    lead: 'Um conteúdo assinado do tipo webhook.test é enviado na hora, com este evento apenas em data.eventType, para o seu sistema não o tratar como real. A resposta aparece aqui.',
  },
})

/** The record's own URL, and a test event to it. */
export function useWebhookUrlFacts(
  { id, type }: Pick<ExplainedRecord, 'id' | 'type'>,
  url: string | undefined,
): Fact[] {
  const t = useText(words)
  const may = useMay()
  const [isOpen, setOpen] = useState(false)
  if (url === undefined || !may('webhook.read')) return []
  return [
    [
      t.url,
      <div key="u">
        <Copyable value={url} label={t.url} />
        {may('webhook.write') && (
          <Button size="compact-sm" variant="default" onClick={() => setOpen(true)}>
            {t.test}
          </Button>
        )}
        {isOpen && <Test id={id} type={type} url={url} onClose={() => setOpen(false)} />}
      </div>,
    ],
  ]
}

function Test({ id, type, url, onClose }: Pick<ExplainedRecord, 'id' | 'type'> & { url: string; onClose: () => void }) {
  const t = useText(words)
  const types = eventTypes.filter((one) => one.startsWith(`${type}.`))
  const [eventType, setEventType] = useState(type === 'transaction' ? 'transaction.paid' : 'withdrawal.processed')
  const test = useMutation({
    mutationFn: async () => await request<WebhookTest>('POST', `/record/${id}/webhook-test`, { eventType }),
  })
  const { data } = test
  return (
    <Confirm title={t.test} isOpen onClose={onClose} confirm={data ? t.again : t.test} action={test}>
      <Text size="sm" className="identifier">
        {url}
      </Text>
      <Select
        label={t.type}
        data={types}
        value={eventType}
        onChange={(value) => value !== null && setEventType(value)}
        allowDeselect={false}
      />
      <Text size="sm">{t.lead}</Text>
      {data && <TestAnswer of={data} />}
    </Confirm>
  )
}
