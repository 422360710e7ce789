import type { Transaction } from '@guiche/sdk'
import { Anchor, Badge, Group, Image, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Fragment, type ReactNode, useEffect } from 'react'
import { Link, useLocation, useParams } from 'wouter'
import { guiche, request } from '../../api.ts'
import { RequireClient } from '../../components/choose-client.tsx'
import { Copyable } from '../../components/copy.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
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
import { PaymentPage } from './payment-page.tsx'
import { ReceiptButtons } from './receipt.tsx'
import { Refunds } from './refund.tsx'
import { RecordSteps } from './steps.tsx'
import { words } from './text.ts'
import { WithdrawalDetails } from './withdrawal.tsx'

/** One transaction or withdrawal: its current status in sentences, its timeline and its details. */
export default function RecordScreen() {
  const t = useText(words)
  const [location] = useLocation()
  const isTransaction = location.startsWith('/transactions/')
  const title = isTransaction ? t.transaction : t.withdrawal
  return (
    <RequireClient title={title}>
      {(client) => <RecordPage client={client} isTransaction={isTransaction} />}
    </RequireClient>
  )
}

function RecordPage({ client, isTransaction }: { client: string; isTransaction: boolean }) {
  const t = useText(words)
  const format = useFormat()
  const { id } = useParams<{ id: string }>()
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
  const code = transaction.data?.pixResponse
  const isWaiting = data?.status === 'PIX_QRCODE_GENERATED'
  const path = useClientLink()(`/${isTransaction ? 'transactions' : 'withdrawals'}/${id}`)
  const { type, amount, timeline } = data ?? {}
  const createdAt = timeline?.[0]?.at
  useEffect(() => {
    if (type && amount !== undefined && createdAt) rememberRecent({ path, type, amount, createdAt })
  }, [path, type, amount, createdAt])
  if (query.isError) return <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />
  return (
    <Page
      title={data ? `${t[data.type]} · ${format.money(data.amount)}` : isTransaction ? t.transaction : t.withdrawal}
      lead={<Copyable value={id} label={t.id} />}
      actions={
        data && (
          <>
            {transaction.data ? <TransactionStatus of={transaction.data} /> : <Status of={data.status} />}
            {data.type === 'transaction' && (
              <ReceiptButtons id={id} isPaid={transaction.data?.endToEnd !== undefined} />
            )}
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
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg" style={{ alignItems: 'start' }}>
        <Section
          title={t.timeline}
          aside={
            <Text size="xs" c="dimmed">
              {t.times}
            </Text>
          }
        >
          {data ? <RecordSteps record={data} /> : <Skeleton height={300} />}
        </Section>
        <Stack gap="lg">
          <Section title={t.details}>
            {data ? <Details record={data} transaction={transaction.data} /> : <Skeleton height={200} />}
            {code && data?.type === 'transaction' && !isWaiting && <PaymentPage client={client} id={id} />}
          </Section>
          {data?.type === 'withdrawal' && <WithdrawalDetails id={id} client={client} />}
          {transaction.data && (
            <Refunds refunds={transaction.data.refunds ?? []} errorMessage={transaction.data.errorMessage} />
          )}
          {transaction.data && <Disputes transaction={transaction.data} />}
          {transaction.data && code?.uri && code.qrCodeBase64 && isWaiting && (
            <Section title={t.qr}>
              <Group align="flex-start" wrap="wrap">
                <Image
                  src={code.qrCodeBase64}
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
                  <Copyable value={code.uri} label={t.code} />
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
        const isOpen = screen !== null && may(screen.permission) && !(screen.isOperators && merchant !== null)
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: sentences have no id, and all are rendered again together
          <Fragment key={index}>
            {writeSentence(sentence, language, format)}{' '}
            {isOpen && (
              <>
                <Anchor component={Link} href={toLink(screen.path, screen.query)} inherit>
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

function Details({ record, transaction }: { record: ExplainedRecord; transaction: Transaction | undefined }) {
  const t = useText(words)
  const format = useFormat()
  const entries: [string, ReactNode][] = [
    [t.amount, format.money(record.amount)],
    [t.client, record.clientId],
    [t.acquirer, record.acquirer],
    ...(record.endToEnd
      ? [[t.endToEnd, <Copyable key="e" value={record.endToEnd} label={t.endToEnd} />] as [string, ReactNode]]
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
  if (customer)
    entries.push([
      t.customer,
      <CustomerLink key="customer" id={transaction.id}>
        {customer.name}, {format.document(customer.document.value)}
      </CustomerLink>,
    ])
  if (amountPaid !== undefined && paymentDate) {
    entries.push([t.paid, `${format.money(amountPaid)}, ${format.dateTime(paymentDate)}`])
  }
  if (feeAmount !== undefined) entries.push([t.fee, format.money(feeAmount)])
  if (feeAmount !== undefined && amountPaid !== undefined) entries.push([t.net, format.money(amountPaid - feeAmount)])
  if (payer) {
    const isOther = customer && !maySame(payer.document, customer.document.value)
    entries.push([
      t.payer,
      <Fragment key="payer">
        {payer.name}, {format.document(payer.document)} {isOther && <Badge color="orange">{t.notCustomer}</Badge>}
      </Fragment>,
    ])
  }
  if (amountRefunded) entries.push([t.refunded, format.money(amountRefunded)])
  return entries
}

/** Whether two tax numbers may be the same: banks mask some digits of the payer's. */
function maySame(one: string, other: string): boolean {
  const [left, right] = [one, other].map((value) => value.replace(/[./-]/g, ''))
  return left?.length === right?.length && [...(left ?? '')].every((sign, at) => sign === '*' || sign === right?.[at])
}

function CustomerLink({ id, children }: { id: string; children: ReactNode }) {
  return (
    <Anchor component={Link} href={useClientLink()(`/customers/${id}`)} inherit>
      {children}
    </Anchor>
  )
}
