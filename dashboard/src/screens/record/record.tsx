import type { Transaction } from '@guiche/sdk'
import { Anchor, Group, Image, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Fragment, type ReactNode, useEffect } from 'react'
import { Link, useLocation, useParams } from 'wouter'
import { guiche, request } from '../../api.ts'
import { RequireMerchant } from '../../components/choose-merchant.tsx'
import { Copyable } from '../../components/copy.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { type Fact, FactList } from '../../components/fact-list.tsx'
import { Page, Section } from '../../components/page.tsx'
import { Status, TransactionStatus } from '../../components/status.tsx'
import { useFormat } from '../../format.ts'
import { useClientLink } from '../../links.ts'
import { useRefreshEvery } from '../../live.ts'
import { rememberRecent } from '../../recent.ts'
import { useMay, useUser } from '../../session.tsx'
import { useLanguage, useText } from '../../text.ts'
import type { ExplainedRecord } from '../../types.ts'
import { RecordActions } from './actions.tsx'
import { findScreenLink, writeSentence } from './current-status.ts'
import { Disputes } from './disputes.tsx'
import { useTechnicalFacts } from './facts.tsx'
import { PaymentPage } from './payment-page.tsx'
import { Persons } from './persons.tsx'
import { ReceiptButtons } from './receipt.tsx'
import { Refunds } from './refund.tsx'
import { AmountStatement } from './statement.tsx'
import { RecordSteps } from './steps.tsx'
import { words } from './text.ts'
import { WithdrawalDetails, WithdrawalReceiver } from './withdrawal.tsx'

/** One transaction or withdrawal: its current status in sentences, its timeline and its details. */
export default function RecordScreen() {
  const t = useText(words)
  const [location] = useLocation()
  const isTransaction = location.startsWith('/transactions/')
  const title = isTransaction ? t.transaction : t.withdrawal
  return (
    <RequireMerchant title={title}>
      {(client) => <RecordPage client={client} isTransaction={isTransaction} />}
    </RequireMerchant>
  )
}

function RecordPage({ client, isTransaction }: { client: string; isTransaction: boolean }) {
  const t = useText(words)
  const format = useFormat()
  const { id } = useParams<{ id: string }>()
  const { id: userId } = useUser()
  const query = useQuery({
    queryKey: ['record', id],
    queryFn: async () => await request<ExplainedRecord>('GET', `/record/${encodeURIComponent(id)}`),
    refetchInterval: useRefreshEvery(5_000),
  })
  const transaction = useQuery({
    queryKey: ['transaction', client, id],
    queryFn: async () => await guiche.transactions.get(id),
    enabled: isTransaction,
    refetchInterval: useRefreshEvery(5_000),
  })
  const { data } = query
  const path = useClientLink()(`/${isTransaction ? 'transactions' : 'withdrawals'}/${id}`)
  const { type, amount, timeline } = data ?? {}
  const createdAt = timeline?.[0]?.at
  useEffect(() => {
    if (type && amount !== undefined && createdAt) rememberRecent({ userId, path, type, amount, createdAt })
  }, [userId, path, type, amount, createdAt])
  if (query.isLoadingError) return <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />
  return (
    <Page
      title={data ? `${t[data.type]} · ${format.money(data.amount)}` : isTransaction ? t.transaction : t.withdrawal}
      lead={<Copyable value={id} label={t.id} />}
      actions={
        data && (
          <>
            {transaction.data ? <TransactionStatus of={transaction.data} /> : <Status of={data.status} />}
            <ReceiptButtons of={data} hasReceipt={hasReceipt(data, transaction.data)} />
            <RecordActions record={data} transaction={transaction.data} />
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
          <CurrentStatus sentences={data.sentences} />
        </div>
      ) : (
        <Skeleton height={80} />
      )}
      {data?.type === 'transaction' && (
        <TransactionParts client={client} record={data} transaction={transaction.data} />
      )}
      {data?.type === 'withdrawal' && <WithdrawalParts client={client} record={data} />}
      {!data && <Skeleton height={300} />}
    </Page>
  )
}

function hasReceipt({ type, status, sentences }: ExplainedRecord, transaction: Transaction | undefined): boolean {
  if (type === 'withdrawal') return status === 'PROCESSED' || status === 'REFUNDED'
  return transaction?.endToEnd !== undefined && !sentences.some(({ code }) => code === 'attribution_reversed')
}

/** Left: people and amounts. Right: timeline and details. A phone shows the left column first. */
function Columns({ left, right }: { left: ReactNode; right: ReactNode }) {
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg" style={{ alignItems: 'start' }}>
      <Stack gap="lg">{left}</Stack>
      <Stack gap="lg">{right}</Stack>
    </SimpleGrid>
  )
}

function TransactionParts({
  client,
  record,
  transaction,
}: {
  client: string
  record: ExplainedRecord
  transaction: Transaction | undefined
}) {
  const isMerchantUser = useUser().merchant !== null
  return (
    <Columns
      left={
        <>
          {transaction && record.status === 'PIX_QRCODE_GENERATED' && (
            <PixCode client={client} transaction={transaction} />
          )}
          <AmountStatement record={record} isMerchantUser={isMerchantUser} />
          {transaction ? <Persons transaction={transaction} /> : <Skeleton height={160} />}
          {transaction && <Refunds refunds={transaction.refunds ?? []} timeline={record.timeline} />}
          {transaction && <Disputes transaction={transaction} />}
        </>
      }
      right={
        <>
          <History record={record} />
          <TransactionDetails client={client} record={record} transaction={transaction} />
        </>
      }
    />
  )
}

function WithdrawalParts({ client, record }: { client: string; record: ExplainedRecord }) {
  const t = useText(words)
  const isMerchantUser = useUser().merchant !== null
  return (
    <Columns
      left={
        <>
          <WithdrawalReceiver client={client} record={record} />
          <AmountStatement record={record} isMerchantUser={isMerchantUser} />
        </>
      }
      right={
        <>
          <History record={record} />
          <Section title={t.details}>
            <WithdrawalDetails client={client} record={record} />
          </Section>
        </>
      }
    />
  )
}

function History({ record }: { record: ExplainedRecord }) {
  const t = useText(words)
  return (
    <Section
      title={t.timeline}
      aside={
        <Text size="xs" c="dimmed">
          {t.times}
        </Text>
      }
    >
      <RecordSteps record={record} />
    </Section>
  )
}

/** The code of an open charge, with its payment page. */
function PixCode({ client, transaction }: { client: string; transaction: Transaction }) {
  const t = useText(words)
  const { uri, qrCodeBase64 } = transaction.pixResponse
  if (!uri || !qrCodeBase64) return null
  return (
    <Section title={t.qr}>
      <Group align="flex-start" wrap="wrap">
        <Image
          src={qrCodeBase64}
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
          <Copyable value={uri} label={t.code} />
          <PaymentPage client={client} id={transaction.id} />
        </div>
      </Group>
    </Section>
  )
}

/** The current status and its cause, with links to the screens on which a person can act. */
function CurrentStatus({ sentences }: { sentences: ExplainedRecord['sentences'] }) {
  const t = useText(words)
  const format = useFormat()
  const { language } = useLanguage()
  const { merchant } = useUser()
  const may = useMay()
  const toLink = useClientLink()
  return (
    <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
      {sentences.map((sentence, index) => {
        const screen = findScreenLink(sentence)
        const isOpen = screen !== null && may(screen.permission) && !(screen.isForOperator && merchant !== null)
        // It only says what to do, which this user may not.
        if (sentence.code === 'decide_dispute' && !isOpen) return null
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: sentences have no id, and all are rendered again together
          <Fragment key={index}>
            {writeSentence(sentence, language, format)}{' '}
            {isOpen && (
              <>
                <Anchor component={Link} href={toLink(screen.path, screen.query)} inherit underline="always">
                  {t.open}
                </Anchor>{' '}
              </>
            )}
          </Fragment>
        )
      })}
    </Text>
  )
}

function TransactionDetails({
  client,
  record,
  transaction,
}: {
  client: string
  record: ExplainedRecord
  transaction: Transaction | undefined
}) {
  const t = useText(words)
  const format = useFormat()
  const toLink = useClientLink()
  const technical = useTechnicalFacts(record, transaction?.webhookUrl)
  const facts: Fact[] = []
  const { createdAt, paymentDate, externalCode, pixResponse } = transaction ?? {}
  if (createdAt) facts.push([t.created, format.dateTime(createdAt)])
  if (paymentDate) facts.push([t.paidAt, format.dateTime(paymentDate)])
  else if (pixResponse?.expirationDate) facts.push([t.expires, format.dateTime(pixResponse.expirationDate)])
  if (externalCode) facts.push([t.externalCode, <Copyable key="x" value={externalCode} label={t.externalCode} />])
  if (record.link)
    facts.push([
      t.link,
      <Anchor key="l" component={Link} href={toLink(`/links/${record.link.id}`)} inherit>
        {record.link.title}
      </Anchor>,
    ])
  return (
    <Section title={t.details}>
      <FactList facts={[...facts, ...technical]} />
      {pixResponse?.uri && record.status !== 'PIX_QRCODE_GENERATED' && <PaymentPage client={client} id={record.id} />}
    </Section>
  )
}
