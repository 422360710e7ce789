import { Skeleton, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { guiche, request } from '../../api.ts'
import { Copyable } from '../../components/copy.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { type Fact, FactList } from '../../components/fact-list.tsx'
import { Section } from '../../components/page.tsx'
import { Proposal } from '../../components/proposals.tsx'
import { ReasonText } from '../../components/reason.tsx'
import { useFormat } from '../../format.ts'
import { useClientLink } from '../../links.ts'
import { useRefreshEvery } from '../../live.ts'
import { texts, useActorName, useText } from '../../text.ts'
import type { ExplainedRecord, WithdrawalView } from '../../types.ts'
import { Decisions } from '../withdrawals/decide.tsx'
import { ReviewBadge, WhyPending } from '../withdrawals/pending-review.tsx'
import { PixKeyCard } from '../withdrawals/pix-key-card.tsx'
import { ReceiverHistory } from '../withdrawals/receiver.tsx'
import { useTechnicalFacts } from './facts.tsx'

const words = texts({
  en: {
    title: 'Receiver',
    receiver: 'Account holder',
    document: 'CPF or CNPJ',
    created: 'Requested at',
    sent: 'Sent at',
    externalCode: 'External code',
    why: 'Reason',
    waits: 'Pending review',
    decisions: {
      'withdrawal.approve': 'Approved by',
      'withdrawal.reject': 'Rejected by',
      'withdrawal.confirm': 'Confirmed by',
      'withdrawal.cancel': 'Canceled by',
    } as Record<string, string>,
  },
  pt: {
    title: 'Recebedor',
    receiver: 'Titular',
    document: 'CPF ou CNPJ',
    created: 'Solicitado em',
    sent: 'Enviado em',
    externalCode: 'Código externo',
    why: 'Motivo',
    waits: 'Aguardando análise',
    decisions: {
      'withdrawal.approve': 'Aprovado por',
      'withdrawal.reject': 'Rejeitado por',
      'withdrawal.confirm': 'Confirmado por',
      'withdrawal.cancel': 'Cancelado por',
    },
  },
})

function useReviewedWithdrawal(id: string) {
  return useQuery({
    queryKey: ['withdrawal', id, 'reviewed'],
    queryFn: async () => await request<WithdrawalView>('GET', `/withdrawal/${id}`),
    refetchInterval: useRefreshEvery(5_000),
  })
}

export function WithdrawalActions({ id }: { id: string }) {
  const { data } = useReviewedWithdrawal(id)
  return data ? <Decisions withdrawal={data} /> : null
}

function useWithdrawal(client: string, id: string) {
  return useQuery({
    queryKey: ['withdrawal', client, id],
    queryFn: async () => await guiche.withdrawals.get(id),
    refetchInterval: useRefreshEvery(5_000),
  })
}

type Props = { client: string; record: ExplainedRecord }

/** Who receives the money, who requested and decided the withdrawal, and, while it is pending review, why. */
export function WithdrawalReceiver({ client, record }: Props) {
  const t = useText(words)
  const format = useFormat()
  const toLink = useClientLink()
  const reviewed = useReviewedWithdrawal(record.id)
  const withdrawal = useWithdrawal(client, record.id)
  const failed = [withdrawal, reviewed].find(({ isLoadingError }) => isLoadingError)
  const { pixKey, receiver } = withdrawal.data ?? {}
  const decisions = useDecisions(record)
  const facts: Fact[] = []
  if (receiver) facts.push([t.receiver, receiver.name], [t.document, format.document(receiver.document)])
  const reason = record.timeline.findLast((entry) => entry.kind === 'status')?.data.reason
  if (reason) facts.push([t.why, <ReasonText key="w" of={reason} />])
  if (reviewed.data?.hold) facts.push([t.waits, <ReviewBadge key="h" hold={reviewed.data.hold} />])
  return (
    <Section title={t.title}>
      {withdrawal.data && reviewed.data ? (
        <Stack gap="xs">
          {pixKey && <PixKeyCard of={pixKey} />}
          {(reviewed.data.status === 'PENDING' || reviewed.data.receiver.count > 0) && (
            <ReceiverHistory of={reviewed.data.receiver} />
          )}
          <FactList facts={[...facts, ...decisions]} />
          <WhyPending withdrawal={reviewed.data} toLink={(one) => toLink(`/withdrawals/${one}`)} />
          {reviewed.data.proposal && <Proposal proposal={reviewed.data.proposal} />}
        </Stack>
      ) : failed ? (
        <ErrorNotice error={failed.error} onRetry={() => void failed.refetch()} />
      ) : (
        <Skeleton height={160} />
      )}
    </Section>
  )
}

/** Who approved, rejected, confirmed or canceled it, and when. */
function useDecisions({ timeline }: ExplainedRecord): Fact[] {
  const t = useText(words)
  const nameOf = useActorName()
  const format = useFormat()
  return timeline.flatMap((entry): Fact[] => {
    if (entry.kind !== 'operator') return []
    const { action, actor } = entry.data
    const name = t.decisions[action]
    if (name === undefined) return []
    return [[name, `${nameOf(actor)}, ${format.dateTime(entry.at)}`]]
  })
}

/** Dates and identifiers. */
export function WithdrawalDetails({ client, record }: Props) {
  const t = useText(words)
  const format = useFormat()
  const withdrawal = useWithdrawal(client, record.id)
  const technical = useTechnicalFacts(record, withdrawal.data?.webhookUrl)
  const { createdAt, processedDate, externalCode } = withdrawal.data ?? {}
  const facts: Fact[] = []
  if (createdAt) facts.push([t.created, format.dateTime(createdAt)])
  if (processedDate) facts.push([t.sent, format.dateTime(processedDate)])
  if (externalCode) facts.push([t.externalCode, <Copyable key="x" value={externalCode} label={t.externalCode} />])
  return <FactList facts={[...facts, ...technical]} />
}
