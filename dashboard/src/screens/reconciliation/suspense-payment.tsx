import { Alert, Anchor, Button, Group, SimpleGrid, Skeleton, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link, useParams } from 'wouter'
import { request } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { Copyable } from '../../components/copy.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Page, Section } from '../../components/page.tsx'
import { Proposal } from '../../components/proposals.tsx'
import { ReasonText } from '../../components/reason.tsx'
import { useFormat } from '../../format.ts'
import { useClientLink } from '../../links.ts'
import { useMay } from '../../session.tsx'
import { useText } from '../../text.ts'
import type { PaymentView } from '../../types.ts'
import { AttributionDialog } from './attribution-dialog.tsx'
import { SuspenseStatusBadge } from './suspense-list.tsx'
import { words } from './suspense-text.ts'

/** One payment in suspense: its details, the charges it may pay, and the actions. */
export default function SuspensePayment() {
  const t = useText(words)
  const format = useFormat()
  const may = useMay()
  const toLink = useClientLink()
  const { id = '' } = useParams()
  const payment = useQuery({
    queryKey: ['reconciliation', 'suspense', id],
    queryFn: async () => await request<PaymentView>('GET', `/suspense/${id}`),
    refetchInterval: ({ state }) => (state.data?.status === 'returning' ? 2_000 : 15_000),
  })
  if (payment.isLoadingError) return <ErrorNotice error={payment.error} onRetry={() => void payment.refetch()} />
  const { data } = payment
  if (!data) return <Skeleton height={320} />
  const isDecider = may('reconciliation.decide')
  return (
    <Page
      title={t.title(format.money(data.amount))}
      lead={
        <>
          <Anchor component={Link} href={toLink('/reconciliation', { tab: 'suspense' })} size="sm">
            ← {t.back}
          </Anchor>
          <br />
          {data.kind === 'unattributed' ? t.unattributedLead : t.duplicateLead(data.client?.name ?? t.aMerchant)}
        </>
      }
      actions={isDecider && <Actions payment={data} />}
    >
      {data.error && (
        <Alert color="orange" title={t.error}>
          <ReasonText of={data.error} />
        </Alert>
      )}
      {data.disputes.map((dispute) => (
        <Alert key={dispute.reference} color="orange" title={t.disputed(format.money(dispute.amount))}>
          {isOver[dispute.state] ? t.disputeOver : t.disputeOpen}
          {dispute.deadline && !isOver[dispute.state] ? ` ${t.disputeUntil(format.dateTime(dispute.deadline))}` : ''}
        </Alert>
      ))}
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg" style={{ alignItems: 'start' }}>
        <Section title={t.facts} aside={<SuspenseStatusBadge of={data.status} />}>
          <Facts payment={data} />
        </Section>
        <Section title={t.history}>
          {data.history.map(({ place, status, at }) => (
            <Group key={place} className="row" py={6} justify="space-between">
              <Text size="sm">{t.statuses[status]}</Text>
              <Text size="sm" c="dimmed">
                {format.dateTime(at)}
              </Text>
            </Group>
          ))}
        </Section>
      </SimpleGrid>
      {data.proposal && (
        <Section title={t.proposed}>
          <Proposal proposal={data.proposal} />
        </Section>
      )}
      {/* If a part was returned outside Guichê, the rest can only be returned, not attributed to a charge. */}
      {data.status === 'held' && data.returnedByOthers === 0 && !data.proposal && (
        <Candidates payment={data} isDecider={isDecider} />
      )}
    </Page>
  )
}

const isOver = { open: false, accepted: false, unknown: false, returned: true, rejected: true, canceled: true } as const

function Facts({ payment }: { payment: PaymentView }) {
  const t = useText(words)
  const format = useFormat()
  const { matched, client, payer } = payment
  const rows: [name: string, value: ReactNode][] = [
    [t.payer, payer?.name ?? t.unknownPayer],
    ...(payer ? [[t.document, format.document(payer.document)] satisfies [string, ReactNode]] : []),
    [t.paid, format.dateTime(payment.paidAt)],
    [t.acquirer, payment.acquirer],
    [t.endToEnd, <Copyable key="endToEnd" value={payment.endToEnd} label={t.endToEnd} />],
    [t.txid, payment.txid ?? t.noTxid],
  ]
  if (payment.paidTransactionId)
    rows.push([t.paidOrder, <TransactionLink key="paid" id={payment.paidTransactionId} clientId={client?.clientId} />])
  if (matched)
    rows.push([
      t.matchedTo,
      <Stack key="matched" gap={0} align="flex-end">
        <TransactionLink id={matched.transactionId} clientId={matched.client?.clientId} />
        {matched.client && (
          <Text size="xs" c="dimmed">
            {t.ofClient(matched.client.name)}
          </Text>
        )}
      </Stack>,
    ])
  if (payment.returnEndToEnd) rows.push([t.returned, <Copyable key="returned" value={payment.returnEndToEnd} />])
  if (payment.returnedByOthers > 0) rows.push([t.byOthers, format.money(payment.returnedByOthers)])
  return rows.map(([name, value]) => (
    <Group key={name} className="row" py={6} justify="space-between" gap="xs">
      <Text size="sm" c="dimmed">
        {name}
      </Text>
      <Text size="sm" component="div" ta="right" style={{ overflowWrap: 'anywhere' }}>
        {value}
      </Text>
    </Group>
  ))
}

function TransactionLink({ id, clientId }: { id: string; clientId: string | undefined }) {
  const search = clientId === undefined ? '' : `?${new URLSearchParams({ client: clientId })}`
  return (
    <Anchor component={Link} href={`/transactions/${id}${search}`} size="sm" className="identifier">
      {id}
    </Anchor>
  )
}

const actionOf = { matched: 'undo', held: 'sendBack', returning: null, returned: null } as const

/** Returns the payment, or reverses its attribution. */
function Actions({ payment }: { payment: PaymentView }) {
  const t = useText(words)
  const [dialog, setDialog] = useState<'undo' | 'sendBack' | null>(null)
  const action = actionOf[payment.status]
  return (
    <>
      {action && (
        <Button variant="default" onClick={() => setDialog(action)}>
          {t[action]}
        </Button>
      )}
      {dialog && <ActionDialog what={dialog} payment={payment} onClose={() => setDialog(null)} />}
    </>
  )
}

/** Keeps the action for which it was opened, even if the payment's status changes meanwhile. */
function ActionDialog({
  what,
  payment,
  onClose,
}: {
  what: 'undo' | 'sendBack'
  payment: PaymentView
  onClose: () => void
}) {
  const t = useText(words)
  const format = useFormat()
  const queries = useQueryClient()
  const sending = useMutation({
    mutationFn: async () => await request('POST', `/suspense/${payment.id}/${what === 'undo' ? 'undoing' : 'return'}`),
    onSuccess: async () => {
      onClose()
      await queries.invalidateQueries({ queryKey: ['reconciliation'] })
    },
  })
  const money = format.money(payment.amount - payment.returnedByOthers)
  return (
    <Confirm title={t[what]} isOpen onClose={onClose} confirm={t[what]} isDangerous action={sending}>
      <Text size="sm">
        {what === 'undo'
          ? t.undoLead(money, payment.matched?.client?.name ?? t.aMerchant)
          : t.sendBackLead(money, payment.payer?.name ?? t.thePayer)}
      </Text>
    </Confirm>
  )
}

/** The charges that the payment may be for, the likeliest first, and a field for any other charge's id. */
function Candidates({ payment, isDecider }: { payment: PaymentView; isDecider: boolean }) {
  const t = useText(words)
  const format = useFormat()
  const [chosen, setChosen] = useState<string | null>(null)
  const [other, setOther] = useState('')
  const isId = /^[\da-f]{8}-?(?:[\da-f]{4}-?){3}[\da-f]{12}$/i.test(other.trim())
  return (
    <Section title={t.candidates}>
      <Text size="sm" c="dimmed" mb="sm">
        {payment.candidates.length === 0 ? t.noCandidates : t.candidatesLead}
      </Text>
      {payment.candidates.map(({ transactionId, client, score, evidence, createdAt }) => (
        <Group key={transactionId} className="row" py="sm" justify="space-between" align="flex-start" gap="sm">
          <div style={{ flex: 1, minWidth: 220 }}>
            <Group gap="xs">
              <Text size="sm" fw={650} c={score >= 75 ? 'var(--mantine-color-teal-light-color)' : undefined}>
                {t.points(format.number(score))}
              </Text>
              <Text size="sm" fw={600}>
                {client?.name}
              </Text>
              <Text size="sm" c="dimmed">
                {t.created(format.dateTime(createdAt))}
              </Text>
            </Group>
            <Text size="sm">
              {evidence.map(({ what, points }) => t.evidencePoints(t.evidence[what], format.number(points))).join(', ')}
            </Text>
            <TransactionLink id={transactionId} clientId={client?.clientId} />
          </div>
          {isDecider && (
            <Button
              size="xs"
              onClick={() => setChosen(transactionId)}
              aria-label={t.matchWith(client?.name ?? '', format.dateTime(createdAt))}
            >
              {t.match}
            </Button>
          )}
        </Group>
      ))}
      {isDecider && (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            if (isId) setChosen(other.trim())
          }}
        >
          <Group align="flex-end" mt="md" gap="sm">
            <TextInput
              label={t.other}
              description={t.otherHint}
              value={other}
              onChange={(event) => setOther(event.currentTarget.value)}
              style={{ flex: 1, minWidth: 220, maxWidth: 420 }}
            />
            <Button type="submit" variant="default" disabled={!isId}>
              {t.view}
            </Button>
          </Group>
        </form>
      )}
      {chosen !== null && (
        <AttributionDialog key={chosen} payment={payment} transactionId={chosen} onClose={() => setChosen(null)} />
      )}
    </Section>
  )
}
