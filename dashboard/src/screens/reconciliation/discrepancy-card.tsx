import { Anchor, Badge, Button, Code, Group, SimpleGrid, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import { Link } from 'wouter'
import { Copyable } from '../../components/copy.tsx'
import { useStatusName } from '../../components/status.tsx'
import { type Format, useFormat } from '../../format.ts'
import { useMay } from '../../session.tsx'
import { useActorName, useText } from '../../text.ts'
import type { DiscrepancyView, Side } from '../../types.ts'
import { ConfirmDiscrepancy, DismissDiscrepancy } from './decide.tsx'
import { type Words, words } from './text.ts'

const timingClasses = new Set(['late', 'cut_off'])
const outcomeColors: Record<string, string> = { confirmed: 'teal', dismissed: 'gray', resolved: 'gray', open: 'orange' }

/** One discrepancy: what each side has, and the proposed action while it is open, or who decided it and why. */
export function DiscrepancyCard({ difference }: { difference: DiscrepancyView }) {
  const t = useText(words)
  const format = useFormat()
  const [name, meaning] = t.classes[difference.class]
  const { atAcquirer, inLedger, state } = difference
  return (
    <article
      className="card"
      style={{ padding: 'var(--mantine-spacing-md)' }}
      aria-label={`${name} ${difference.reference}`}
    >
      <Stack gap="sm">
        <Group justify="space-between" align="flex-start" gap="xs">
          <div style={{ flex: 1, minWidth: 220 }}>
            <Group gap="xs">
              <Badge
                variant="light"
                color={timingClasses.has(difference.class) ? 'gray' : 'orange'}
                tt="none"
                radius="sm"
              >
                {name}
              </Badge>
              {difference.client && (
                <Text size="sm" fw={600}>
                  {difference.client.name}
                </Text>
              )}
              {state !== 'open' && (
                <Badge variant="light" color={outcomeColors[state] ?? 'gray'} tt="none" radius="sm">
                  {t.outcomes[state]}
                </Badge>
              )}
            </Group>
            <Text size="sm" c="dimmed" mt={4}>
              {meaning}
            </Text>
          </div>
          <Text size="xs" c="dimmed">
            {t.found(format.fromNow(difference.foundAt))}
          </Text>
        </Group>
        <SimpleGrid cols={2} spacing="sm">
          <SideCell title={t.atAcquirer(difference.acquirer)} side={atAcquirer} other={inLedger} />
          <SideCell title={t.inLedger} side={inLedger} other={atAcquirer} />
        </SimpleGrid>
        <Group gap="md">
          <Copyable value={difference.reference} />
          <RecordLink difference={difference} />
        </Group>
        {atAcquirer?.raw !== undefined && (
          <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
            {atAcquirer.raw}
          </Code>
        )}
        <Decision difference={difference} />
      </Stack>
    </article>
  )
}

function SideCell({ title, side, other }: { title: string; side: Side | null; other: Side | null }) {
  const t = useText(words)
  const format = useFormat()
  const nameOf = useStatusName()
  const differs = side !== null && other !== null && side.amount !== other.amount
  return (
    <div>
      <Text size="xs" c="dimmed">
        {title}
      </Text>
      <Text fw={600} c={side === null ? 'dimmed' : undefined} td={differs ? 'underline' : undefined}>
        {side === null ? t.nothing : side.rawSha256 === undefined ? format.money(side.amount) : t.unreadable}
      </Text>
      {side && (
        <Text size="xs" c="dimmed">
          {[
            side.state && (t.states[side.state] ?? nameOf(side.state).toLowerCase()),
            side.fee !== undefined && t.fee(format.money(side.fee)),
            side.med !== undefined && t.med(format.money(side.med)),
            format.dateTime(side.at),
            side.postedAt !== undefined && side.postedAt !== side.at && t.posted(format.dateTime(side.postedAt)),
          ]
            .filter(Boolean)
            .join(' · ')}
        </Text>
      )}
    </div>
  )
}

function RecordLink({ difference: { record, client, reference } }: { difference: DiscrepancyView }) {
  const t = useText(words)
  const may = useMay()
  if (!record) return null
  const search = client ? `?${new URLSearchParams({ client: client.clientId })}` : ''
  // A payment in suspense gets no link: its address is not of this form.
  if (record.type === 'suspense' || !may(`${record.type}.read`)) return null
  return (
    <Anchor
      component={Link}
      href={`/${record.type}s/${record.id}${search}`}
      size="sm"
      aria-label={`${t.record} ${reference}`}
    >
      {t.record}
    </Anchor>
  )
}

function Decision({ difference }: { difference: DiscrepancyView }) {
  const t = useText(words)
  const nameOf = useActorName()
  const format = useFormat()
  const may = useMay()
  const [dialog, setDialog] = useState<'confirm' | 'dismiss' | null>(null)
  const { action } = difference.proposal
  const close = () => setDialog(null)
  if (difference.state !== 'open') {
    const { decidedAt, decidedBy, reason } = difference
    if (decidedBy === null || decidedAt === null) return null
    return (
      <Text size="sm">
        {t.decidedBy(nameOf(decidedBy), format.dateTime(decidedAt))}
        {reason && `: ${reason}`}
      </Text>
    )
  }
  return (
    <Group justify="space-between" gap="sm">
      <Text size="sm" style={{ flex: 1, minWidth: 220 }}>
        <Text span c="dimmed">
          {t.proposed}:
        </Text>{' '}
        {proposalInWords(difference, t, format)}
      </Text>
      {may('reconciliation.decide') && action !== 'none' && (
        <Group gap="xs">
          <Button size="xs" variant="default" onClick={() => setDialog('dismiss')}>
            {t.dismiss}
          </Button>
          {action !== 'investigate' && (
            <Button size="xs" onClick={() => setDialog('confirm')}>
              {t.confirm}
            </Button>
          )}
        </Group>
      )}
      {dialog === 'confirm' && <ConfirmDiscrepancy difference={difference} onClose={close} />}
      {dialog === 'dismiss' && <DismissDiscrepancy difference={difference} onClose={close} />}
    </Group>
  )
}

// settle: query the PSP and post its answer; suspend: place in suspense.
function proposalInWords({ proposal, subject, client }: DiscrepancyView, t: Words, format: Format): string {
  switch (proposal.action) {
    case 'none':
      return t.proposals.none
    case 'investigate':
      return t.proposals.investigate
    case 'settle':
      return subject === 'payment' ? t.proposals.settlePayment : t.proposals.settleOther
    case 'suspend':
      return proposal.kind === 'duplicate' ? t.proposals.suspendDuplicate : t.proposals.suspendUnattributed
    case 'correct': {
      const money = format.money(proposal.cents)
      return proposal.account === 'house' || client === null
        ? t.proposals.correctOperator(money)
        : t.proposals.correctMerchant(money, client.name)
    }
  }
}
