import type { Transaction } from '@guiche/sdk'
import { Badge, Group, Image, SimpleGrid, Skeleton, Stack, Text, Timeline } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { useLocation, useParams } from 'wouter'
import type { Explanation } from '../../../../src/explain/explain.ts'
import { ask, guiche } from '../../api.ts'
import { OfClient } from '../../components/choose-client.tsx'
import { Copyable } from '../../components/copy.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Page, Section } from '../../components/page.tsx'
import { Status } from '../../components/status.tsx'
import { useFormat } from '../../format.ts'
import { useLanguage, useText } from '../../text.ts'
import { RecordActions } from './actions.tsx'
import { PaymentPage } from './payment-page.tsx'
import { Refunds } from './refund.tsx'
import { standInPortuguese, tellInPortuguese } from './tell.ts'
import { words } from './text.ts'
import { WithdrawalDetails } from './withdrawal.tsx'

/** Dates come over the wire as text. */
type Told = Omit<Explanation, 'timeline'> & {
  timeline: { at: string; kind: Explanation['timeline'][number]['kind']; what: string; data: Record<string, unknown> }[]
}

/** One transaction or withdrawal: what it is, what happened to it, and the sentence that makes sense of it. */
export default function RecordScreen() {
  const t = useText(words)
  const [location] = useLocation()
  const isTransaction = location.startsWith('/transactions/')
  const title = isTransaction ? t.transaction : t.withdrawal
  return <OfClient title={title}>{(client) => <Shown client={client} isTransaction={isTransaction} />}</OfClient>
}

function Shown({ client, isTransaction }: { client: string; isTransaction: boolean }) {
  const t = useText(words)
  const format = useFormat()
  const { id } = useParams<{ id: string }>()
  const told = useQuery({
    queryKey: ['record', id],
    queryFn: async () => await ask<Told>('GET', `/record/${encodeURIComponent(id)}`),
    refetchInterval: 5_000,
  })
  const transaction = useQuery({
    queryKey: ['transaction', client, id],
    queryFn: async () => await guiche.transactions.get(id),
    enabled: isTransaction,
    refetchInterval: 5_000,
  })
  if (told.isError) return <ErrorNotice error={told.error} onRetry={() => void told.refetch()} />
  const { data } = told
  return (
    <Page
      title={data ? `${t[data.type]} · ${format.money(data.amount)}` : isTransaction ? t.transaction : t.withdrawal}
      lead={<Copyable value={id} label={t.id} />}
      actions={
        data && (
          <>
            <Status of={data.status} />
            <RecordActions told={data} transaction={transaction.data} />
          </>
        )
      }
    >
      {data ? (
        <div
          className="card"
          style={{
            padding: 'var(--mantine-spacing-md)',
            borderInlineStart: '4px solid var(--mantine-primary-color-filled)',
          }}
        >
          <Text size="sm" fw={600} mb={2}>
            {t.where}
          </Text>
          <Standing told={data} />
        </div>
      ) : (
        <Skeleton height={80} />
      )}
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg" style={{ alignItems: 'start' }}>
        <Section
          title={t.timeline}
          aside={
            <Text size="xs" c="dimmed">
              {t.times}
            </Text>
          }
        >
          {data ? <Happened told={data} /> : <Skeleton height={300} />}
        </Section>
        <Stack gap="lg">
          <Section title={t.details}>
            {data ? <Details told={data} transaction={transaction.data} /> : <Skeleton height={200} />}
          </Section>
          {data?.type === 'withdrawal' && <WithdrawalDetails id={id} client={client} />}
          {transaction.data && (
            <Refunds refunds={transaction.data.refunds ?? []} errorMessage={transaction.data.errorMessage} />
          )}
          {transaction.data?.pixResponse && (
            <Section title={t.qr}>
              <Group align="flex-start" wrap="wrap">
                <Image
                  src={transaction.data.pixResponse.qrCodeBase64}
                  alt={t.qr}
                  w={160}
                  h={160}
                  radius="sm"
                  style={{ imageRendering: 'pixelated', background: '#fff' }}
                />
                <div style={{ flex: 1, minWidth: 180 }}>
                  <Text size="xs" c="dimmed">
                    {t.code}
                  </Text>
                  <Copyable value={transaction.data.pixResponse.uri} label={t.code} />
                  <PaymentPage client={client} id={id} />
                </div>
              </Group>
            </Section>
          )}
        </Stack>
      </SimpleGrid>
    </Page>
  )
}

/** The whole sentence is the service's, which speaks English and UTC. */
function Standing({ told }: { told: Told }) {
  const t = useText(words)
  const { language } = useLanguage()
  const isOurs = language === 'pt'
  return (
    <>
      {isOurs && <Text size="sm">{standInPortuguese(told)}</Text>}
      <Text size={isOurs ? 'xs' : 'sm'} {...(isOurs && { c: 'dimmed', mt: 6 })} lang="en">
        {told.summary}
      </Text>
      <Text size="xs" c="dimmed" mt={isOurs ? 2 : 6}>
        {t.inUtc}
      </Text>
    </>
  )
}

const kindColors: Partial<Record<Told['timeline'][number]['kind'], string>> = {
  status: 'lamp',
  ledger: 'blue',
  delivery: 'grape',
  callback: 'orange',
  acquirer: 'gray',
  contest: 'red',
  refund: 'yellow',
}

function Happened({ told }: { told: Told }) {
  const t = useText(words)
  const format = useFormat()
  return (
    <Timeline bulletSize={12} lineWidth={2}>
      {told.timeline.map(({ at, kind }, index) => {
        const before = told.timeline[index - 1]
        const pause = before ? new Date(at).getTime() - new Date(before.at).getTime() : 0
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: a history is only ever added to
          <Timeline.Item key={index} bullet={<span />} color={kindColors[kind] ?? 'gray'}>
            <Group gap={8} mb={2}>
              <Badge size="xs" variant="light" color={kindColors[kind] ?? 'gray'} tt="none" radius="sm">
                {t.kinds[kind]}
              </Badge>
              <Text size="xs" c="dimmed">
                {format.dateTime(at)}
                {pause >= 1000 ? ` · ${t.after(format.duration(pause))}` : ''}
              </Text>
            </Group>
            <What told={told} index={index} />
          </Timeline.Item>
        )
      })}
    </Timeline>
  )
}

function What({ told: { timeline }, index }: { told: Told; index: number }) {
  const format = useFormat()
  const { language } = useLanguage()
  const entry = timeline[index]
  if (!entry) return null
  if (entry.kind === 'status') {
    const reason = entry.what.includes(': ') ? entry.what.slice(entry.what.indexOf(': ') + 2) : ''
    return (
      <Group gap={8}>
        <Status of={String(entry.data.status)} />
        {reason !== '' && <Text size="sm">{reason}</Text>}
      </Group>
    )
  }
  return (
    <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
      {language === 'pt' ? tellInPortuguese(entry, timeline.slice(0, index), format) : entry.what}
    </Text>
  )
}

function Details({ told, transaction }: { told: Told; transaction: Transaction | undefined }) {
  const t = useText(words)
  const format = useFormat()
  const entries: [string, ReactNode][] = [
    [t.amount, format.money(told.amount)],
    [t.client, told.clientId],
    [t.acquirer, told.acquirer],
    ...(told.endToEnd
      ? [[t.endToEnd, <Copyable key="e" value={told.endToEnd} label={t.endToEnd} />] as [string, ReactNode]]
      : []),
    ...(transaction ? toTransactionEntries(transaction, t, format) : []),
  ]
  return (
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
  )
}

function toTransactionEntries(
  transaction: Transaction,
  t: (typeof words)['en'],
  format: ReturnType<typeof useFormat>,
): [string, ReactNode][] {
  const { createdAt, externalCode, customer, payer, amountPaid, paymentDate, feeAmount, amountRefunded } = transaction
  const entries: [string, ReactNode][] = [[t.created, format.dateTime(createdAt)]]
  if (externalCode) entries.push([t.externalCode, <Copyable key="x" value={externalCode} label={t.externalCode} />])
  if (customer) entries.push([t.customer, `${customer.name}, ${customer.document.value}`])
  if (amountPaid !== undefined && paymentDate) {
    entries.push([t.paid, `${format.money(amountPaid)}, ${format.dateTime(paymentDate)}`])
  }
  if (feeAmount !== undefined) entries.push([t.fee, format.money(feeAmount)])
  if (payer) entries.push([t.payer, `${payer.name}, ${payer.document}`])
  if (amountRefunded) entries.push([t.refunded, format.money(amountRefunded)])
  return entries
}
