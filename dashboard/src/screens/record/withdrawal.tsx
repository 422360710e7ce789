import { Group, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { guiche, request } from '../../api.ts'
import { Copyable } from '../../components/copy.tsx'
import { Section } from '../../components/page.tsx'
import { Proposal } from '../../components/proposals.tsx'
import { useFormat } from '../../format.ts'
import { useClientLink } from '../../links.ts'
import { useRefreshEvery } from '../../live.ts'
import { texts, useText } from '../../text.ts'
import type { WithdrawalView } from '../../types.ts'
import { Decisions } from '../withdrawals/decide.tsx'
import { ReviewBadge, WhyPending } from '../withdrawals/pending-review.tsx'
import { PixKeyCard } from '../withdrawals/pix-key-card.tsx'
import { ReceiverHistory } from '../withdrawals/receiver.tsx'

const words = texts({
  en: {
    title: 'Receiver',
    fee: 'Fee (added to the amount)',
    receiver: 'Account holder',
    left: 'Sent',
    externalCode: 'External code',
    why: 'Reason',
    waits: 'Pending review',
  },
  pt: {
    title: 'Recebedor',
    fee: 'Tarifa (somada ao valor)',
    receiver: 'Titular',
    left: 'Enviado',
    externalCode: 'Código externo',
    why: 'Motivo',
    waits: 'Aguardando análise',
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

/** The receiver, the fee, and why the withdrawal is pending review. */
export function WithdrawalDetails({ id, client }: { id: string; client: string }) {
  const t = useText(words)
  const format = useFormat()
  const toLink = useClientLink()
  const reviewed = useReviewedWithdrawal(id)
  const withdrawal = useQuery({
    queryKey: ['withdrawal', client, id],
    queryFn: async () => await guiche.withdrawals.get(id),
    refetchInterval: useRefreshEvery(5_000),
  })
  if (!withdrawal.data || !reviewed.data) return <Skeleton height={160} />
  const { pixKey, feeAmount, receiver, processedDate, amountWithdrawn, externalCode, errorMessage } = withdrawal.data
  const { hold } = reviewed.data
  const entries: [string, ReactNode][] = []
  if (receiver) entries.push([t.receiver, `${receiver.name}, ${format.document(receiver.document)}`])
  if (feeAmount !== undefined) entries.push([t.fee, format.money(feeAmount)])
  if (processedDate && amountWithdrawn !== undefined)
    entries.push([t.left, `${format.money(amountWithdrawn)}, ${format.dateTime(processedDate)}`])
  if (externalCode) entries.push([t.externalCode, <Copyable key="x" value={externalCode} label={t.externalCode} />])
  if (errorMessage) entries.push([t.why, errorMessage])
  if (hold) entries.push([t.waits, <ReviewBadge key="h" hold={hold} />])
  return (
    <Section title={t.title}>
      <Stack gap="xs">
        {pixKey && <PixKeyCard of={pixKey} />}
        <ReceiverHistory of={reviewed.data.receiver} />
        <Stack gap={0} component="dl" m={0}>
          {entries.map(([name, value]) => (
            <Group key={name} className="row" py={6} justify="space-between" wrap="nowrap" align="flex-start">
              <Text size="sm" c="dimmed" component="dt">
                {name}
              </Text>
              <Text size="sm" component="dd" m={0} ta="right" style={{ overflowWrap: 'anywhere' }}>
                {value}
              </Text>
            </Group>
          ))}
        </Stack>
        <WhyPending withdrawal={reviewed.data} toLink={(one) => toLink(`/withdrawals/${one}`)} />
        {reviewed.data.proposal && <Proposal proposal={reviewed.data.proposal} />}
      </Stack>
    </Section>
  )
}
