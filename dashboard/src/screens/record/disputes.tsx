import type { Dispute, Return, Transaction } from '@guiche/sdk'
import { Badge, Group, Skeleton, Stack, Text } from '@mantine/core'
import { lazy, Suspense } from 'react'
import { Section } from '../../components/page.tsx'
import { Amount } from '../../components/record-table.tsx'
import { useFormat } from '../../format.ts'
import { useMay } from '../../session.tsx'
import { texts, useText } from '../../text.ts'

const Defence = lazy(async () => await import('./defence.tsx'))

const words = texts({
  en: {
    disputes: 'Disputes (MED)',
    returns: 'Returned by the PSP',
    statuses: {
      OPEN: 'Under review',
      ACCEPTED: 'Accepted',
      RETURNED: 'Returned',
      REJECTED: 'Rejected',
      CANCELED: 'Canceled',
    },
    blocked: (amount: string) => `${amount} blocked`,
    returned: (amount: string) => `${amount} returned to the payer`,
    opened: (time: string) => `opened ${time}`,
    until: (time: string) => `decision due ${time}`,
    ended: (time: string) => `closed ${time}`,
    byMed: 'MED',
    byBank: 'by the PSP itself',
  },
  pt: {
    disputes: 'Contestações (MED)',
    returns: 'Devolvido pelo PSP',
    statuses: {
      OPEN: 'Em análise',
      ACCEPTED: 'Aceita',
      RETURNED: 'Devolvida',
      REJECTED: 'Rejeitada',
      CANCELED: 'Cancelada',
    },
    blocked: (amount: string) => `${amount} bloqueados`,
    returned: (amount: string) => `${amount} devolvidos ao pagador`,
    opened: (time: string) => `aberta em ${time}`,
    until: (time: string) => `decisão até ${time}`,
    ended: (time: string) => `encerrada em ${time}`,
    byMed: 'MED',
    byBank: 'pelo próprio PSP',
  },
})

const colors = { OPEN: 'orange', ACCEPTED: 'orange', RETURNED: 'grape', REJECTED: 'teal', CANCELED: 'gray' } as const

/** The disputes of a transaction, and what its PSP returned to the payer. */
export function Disputes({ transaction: { id, disputes = [], returns = [] } }: { transaction: Transaction }) {
  const t = useText(words)
  const mayRead = useMay()('infraction.read')
  return (
    <>
      {disputes.length > 0 && (
        <Section title={t.disputes}>
          <Stack gap={0}>
            {disputes.map((dispute) => (
              <DisputeRow key={dispute.id} dispute={dispute} />
            ))}
          </Stack>
        </Section>
      )}
      {mayRead &&
        disputes.map((dispute) => (
          <Suspense key={dispute.id} fallback={<Skeleton height={200} />}>
            <Defence transactionId={id} dispute={dispute} isOnlyOne={disputes.length === 1} />
          </Suspense>
        ))}
      {returns.length > 0 && (
        <Section title={t.returns}>
          <Stack gap={0}>
            {returns.map((one) => (
              <ReturnRow key={`${one.endToEndRefund} ${one.date}`} one={one} />
            ))}
          </Stack>
        </Section>
      )}
    </>
  )
}

function DisputeRow({ dispute }: { dispute: Dispute }) {
  const t = useText(words)
  const format = useFormat()
  const { amount, amountBlocked, amountReturned, status, reason, openedAt, deadline, finishedAt } = dispute
  const facts = [
    amountBlocked > 0 ? t.blocked(format.money(amountBlocked)) : '',
    amountReturned > 0 ? t.returned(format.money(amountReturned)) : '',
    t.opened(format.dateTime(openedAt)),
    finishedAt
      ? t.ended(format.dateTime(finishedAt))
      : status === 'OPEN' && deadline
        ? t.until(format.dateTime(deadline))
        : '',
    reason ?? '',
  ]
  return (
    <Group className="row" py="xs" justify="space-between" align="flex-start" wrap="nowrap">
      <div style={{ minWidth: 0 }}>
        <Amount of={amount} />
        <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {facts.filter((fact) => fact !== '').join(' · ')}
        </Text>
      </div>
      <Badge variant="light" color={colors[status]} tt="none" radius="sm" style={{ flexShrink: 0 }}>
        {t.statuses[status]}
      </Badge>
    </Group>
  )
}

function ReturnRow({ one: { amount, date, endToEndRefund, disputeId } }: { one: Return }) {
  const t = useText(words)
  const format = useFormat()
  return (
    <div className="row" style={{ padding: 'var(--mantine-spacing-xs) 0' }}>
      <Amount of={amount} />
      <Text size="xs" c="dimmed">
        {format.dateTime(date)} · {disputeId ? t.byMed : t.byBank}
      </Text>
      {endToEndRefund && (
        <Text size="xs" c="dimmed" className="identifier">
          {endToEndRefund}
        </Text>
      )}
    </div>
  )
}
