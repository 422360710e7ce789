import type { Dispute } from '@guiche/sdk'
import { Alert, Button, Group, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { request } from '../../api.ts'
import { DefenceBadge } from '../../components/defence-badge.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { type Fact, FactList } from '../../components/fact-list.tsx'
import { Section } from '../../components/page.tsx'
import { useFormat } from '../../format.ts'
import { useRefreshEvery } from '../../live.ts'
import { useMay } from '../../session.tsx'
import { useText } from '../../text.ts'
import type { DefenceView } from '../../types.ts'
import { DefenceFiles } from './defence-files.tsx'
import { DefenceForm } from './defence-form.tsx'
import { HandIn, PackageButton } from './defence-send.tsx'
import { words } from './defence-text.ts'

/** What the merchant says about one dispute: written here, then sent to the PSP or handed in by a person. */
export default function Defence({
  transactionId,
  dispute,
  isOnlyOne,
}: {
  transactionId: string
  dispute: Dispute
  isOnlyOne: boolean
}) {
  const t = useText(words)
  const format = useFormat()
  const may = useMay()
  const queries = useQueryClient()
  const queryKey = ['record', transactionId, 'defence', dispute.id]
  const everyMs = useRefreshEvery(5_000)
  const query = useQuery({
    queryKey,
    queryFn: async () => await request<DefenceView>('GET', `/infraction/${dispute.id}/defence`),
    // The answer of the PSP is not among the changes that the service reports.
    refetchInterval: ({ state }) => (state.data?.written?.state === 'sending' ? 2_000 : everyMs),
  })
  const { data } = query
  const update = async (answer: DefenceView) => {
    await queries.cancelQueries({ queryKey })
    queries.setQueryData(queryKey, answer)
    void queries.invalidateQueries({ queryKey: ['record', transactionId] })
  }
  const title = isOnlyOne ? t.title : `${t.title} · ${format.money(dispute.amount)}`
  if (query.isLoadingError) return <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />
  if (!data) return <Skeleton height={200} />
  const isEmpty = data.written === null && data.files.length === 0
  const isEditable = data.isOpen && may('infraction.defend')
  if (isEmpty && !isEditable) return null
  const state = data.written?.state ?? (isEmpty ? 'none' : 'draft')
  return (
    <Section title={title} aside={<DefenceBadge of={state} />}>
      <Stack gap="md">
        {data.isOpen && <Deadline deadline={dispute.deadline ?? null} />}
        {data.written?.refusal && (
          <Alert color="red" title={t.refused}>
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              {data.written.refusal}
            </Text>
            {isEditable && <Text size="sm">{t.refusedHint}</Text>}
          </Alert>
        )}
        {isEditable ? (
          <DefenceForm defence={data} onChange={update} />
        ) : (
          <Finished defence={data} isDisputeOpen={dispute.status === 'OPEN'} onChange={update} />
        )}
      </Stack>
    </Section>
  )
}

function Deadline({ deadline }: { deadline: string | null }) {
  const t = useText(words)
  const format = useFormat()
  if (deadline === null) return null
  const leftMs = Date.parse(deadline) - Date.now()
  const isNear = leftMs < 48 * 60 * 60_000
  return (
    <Text
      size="sm"
      fw={600}
      {...(isNear && { c: `var(--mantine-color-${leftMs > 0 ? 'orange' : 'red'}-light-color)` })}
    >
      {leftMs > 0 ? t.due(format.fromNow(deadline), format.dateTime(deadline)) : t.overdue(format.fromNow(deadline))}
    </Text>
  )
}

/** A defence that the user cannot change: sent, being sent or handed in; or a draft that is read-only. */
function Finished({
  defence,
  isDisputeOpen,
  onChange,
}: {
  defence: DefenceView
  isDisputeOpen: boolean
  onChange: (answer: DefenceView) => Promise<void>
}) {
  const t = useText(words)
  const format = useFormat()
  const mayDefend = useMay()('infraction.defend')
  const [isHandingIn, setHandingIn] = useState(false)
  const { written, disputeId } = defence
  const state = written?.state ?? 'draft'
  const at = written?.answeredAt ?? written?.requestedAt
  const sentence =
    state === 'sent' || state === 'sending' || state === 'handed_in'
      ? { sent: t.sent, sending: t.sending, handed_in: t.handedIn }[state](at ? format.dateTime(at) : '')
      : isDisputeOpen
        ? null
        : t.notSent
  return (
    <>
      {sentence && <Text size="sm">{sentence}</Text>}
      {written?.isErased && <Text size="sm">{t.erased}</Text>}
      {written && !written.isErased && written.text.trim() !== '' && (
        <Text size="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {written.text}
        </Text>
      )}
      <FactList facts={useFacts(written)} />
      <DefenceFiles defence={defence} isEditable={false} onChange={onChange} />
      <Group gap="xs">
        {!written?.isErased && <PackageButton disputeId={disputeId} />}
        {state === 'sending' && isDisputeOpen && mayDefend && (
          <Button variant="default" onClick={() => setHandingIn(true)}>
            {t.handIn}
          </Button>
        )}
      </Group>
      {isHandingIn && (
        <HandIn
          defence={defence}
          save={async () => written?.revision ?? 0}
          onChange={onChange}
          onClose={() => setHandingIn(false)}
        />
      )}
    </>
  )
}

function useFacts(written: DefenceView['written']): Fact[] {
  const t = useText(words)
  const format = useFormat()
  if (written === null) return []
  const { kind, carrier, trackingCode, deliveredOn, receivedBy, invoice } = written.delivery
  const facts: [string, string][] = [
    [t.reference, written.reference ?? ''],
    [t.kind, kind === null ? '' : t.kinds[kind]],
    [t.carrier, carrier],
    [t.trackingCode, trackingCode],
    [t.deliveredOn[kind ?? 'goods'], deliveredOn === '' ? '' : format.date(`${deliveredOn}T12:00:00Z`)],
    [t.receivedBy, receivedBy],
    [t.invoice, invoice],
  ]
  return facts.filter(([, value]) => value !== '')
}
