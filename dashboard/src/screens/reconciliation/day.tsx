import { Anchor, Badge, Button, Group, Select, Skeleton, Stack, Table, Text } from '@mantine/core'
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Link, useParams } from 'wouter'
import { request, withQuery } from '../../api.ts'
import { Copyable } from '../../components/copy.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { IconOf } from '../../components/icons.tsx'
import { Page, Section } from '../../components/page.tsx'
import { useFilters } from '../../filters.ts'
import { type Format, useFormat } from '../../format.ts'
import { useClientLink } from '../../links.ts'
import { useMay } from '../../session.tsx'
import { useLanguage, useText } from '../../text.ts'
import type { Amount, ClosedDayView, DiscrepancyClass } from '../../types.ts'
import { words } from './days-text.ts'
import { RequestedRunNotice } from './requested-run.tsx'
import { words as reconciliationWords } from './text.ts'

/** A closed day: the totals of both sides, discrepancies, changes since the previous version, and the signed file. */
export default function Day() {
  const t = useText(words)
  const format = useFormat()
  const { language } = useLanguage()
  const toLink = useClientLink()
  const may = useMay()
  const filters = useFilters()
  const { acquirer = '', day = '' } = useParams()
  const version = filters.get('version')
  const requested = filters.get('requested')
  const path = `/reconciliation/day/${encodeURIComponent(acquirer)}/${encodeURIComponent(day)}`
  const closed = useQuery({
    queryKey: ['reconciliation', 'day', acquirer, day, version],
    queryFn: async () => await request<ClosedDayView>('GET', withQuery(path, { version })),
    placeholderData: keepPreviousData,
  })
  const again = useMutation({
    mutationFn: async () => await request<{ id: string }>('POST', '/reconciliation/day', { acquirer, day }),
    onSuccess: ({ id }) => filters.set({ requested: id, version: '' }),
  })
  if (closed.isLoadingError) return <ErrorNotice error={closed.error} onRetry={() => void closed.refetch()} />
  const { data } = closed
  return (
    <Page
      title={`${format.date(`${day}T12:00:00Z`)} · ${acquirer}`}
      lead={
        <>
          <Anchor
            component={Link}
            href={toLink('/reconciliation', { tab: 'days' })}
            size="sm"
            className="not-printed"
            display="block"
          >
            ← {t.back}
          </Anchor>
          {t.lead(acquirer)}
        </>
      }
      actions={
        <>
          {may('reconciliation.decide') && (
            <Button variant="default" loading={again.isPending} onClick={() => again.mutate()}>
              {t.closeAgain}
            </Button>
          )}
          <Button
            component="a"
            variant="default"
            href={withQuery(`/dashboard/api${path}/statement.pdf`, { version: data?.version, language })}
            download
            leftSection={<IconOf name="download" size={16} />}
          >
            PDF
          </Button>
          <Button
            component="a"
            href={withQuery(`/dashboard/api${path}/statement.jws`, { version: data?.version })}
            download
            leftSection={<IconOf name="download" size={16} />}
          >
            {t.download}
          </Button>
        </>
      }
    >
      {again.isError && <ErrorNotice error={again.error} />}
      {requested !== '' && (
        <RequestedRunNotice key={requested} id={requested} onClose={() => filters.set({ requested: '' })} />
      )}
      {data ? (
        <>
          <Select
            label={t.version}
            data={data.versions.map((one) => ({
              value: String(one.version),
              label: t.versionAt(format.number(one.version), format.dateTime(one.signedAt)),
            }))}
            value={String(data.version)}
            allowDeselect={false}
            onChange={(chosen) => filters.set({ version: chosen ?? '' })}
            maw={360}
          />
          {data.changes && <Changes changes={data.changes} />}
          <Section title={t.totals}>
            <Totals day={data} />
          </Section>
          <Section title={t.differences}>
            <Discrepancies day={data} />
          </Section>
          <Section
            title={t.signature}
            aside={
              <Anchor
                href="/dashboard/api/reconciliation/statement-keys.json"
                download
                size="sm"
                className="not-printed"
              >
                {t.keys}
              </Anchor>
            }
          >
            <Text size="sm" c="dimmed" mb="xs" style={{ overflowWrap: 'anywhere' }}>
              {t.signatureLead}
            </Text>
            <Text size="xs" c="dimmed">
              {t.sha256}
            </Text>
            <Copyable value={data.sha256} label={t.sha256} />
          </Section>
        </>
      ) : (
        <Skeleton height={320} />
      )}
    </Page>
  )
}

function Totals({ day: { ledgerSide, acquirerSide, dated } }: { day: ClosedDayView }) {
  const t = useText(words)
  const format = useFormat()
  const cellOf = (amount: Amount) => <AmountCell amount={amount} />
  const rows: [name: string, acquirer: ReactNode, ledger: ReactNode][] = [
    [t.opening, format.money(acquirerSide.opening), format.money(ledgerSide.opening)],
    [t.in, cellOf(acquirerSide.in), cellOf(ledgerSide.in)],
    [t.returned, cellOf(acquirerSide.returned), cellOf(ledgerSide.returned)],
    [t.paidOut, cellOf(acquirerSide.paidOut), cellOf(ledgerSide.paidOut)],
    [t.payoutsReturned, '–', cellOf(ledgerSide.payoutsReturned)],
    [t.fees, acquirerSide.fees === null ? t.notReported : format.money(acquirerSide.fees), '–'],
    [t.corrections, '–', cellOf(ledgerSide.corrections)],
    [t.closing, format.money(acquirerSide.closing), format.money(ledgerSide.closing)],
  ]
  return (
    <>
      <Table className="totals" verticalSpacing={6} horizontalSpacing="xs" aria-label={t.totals}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th />
            <Table.Th ta="right">{t.acquirer}</Table.Th>
            <Table.Th ta="right">{t.ledger}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map(([name, acquirer, ours], index) => (
            <Table.Tr key={name} fw={index === rows.length - 1 ? 650 : undefined}>
              <Table.Td>{name}</Table.Td>
              <Table.Td ta="right">{acquirer}</Table.Td>
              <Table.Td ta="right">{ours}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Text size="sm" c="dimmed" mt="sm">
        {t.datedByPsp(format.number(dated.count), format.money(dated.sum))}
      </Text>
    </>
  )
}

function AmountCell({ amount: { count, sum } }: { amount: Amount }) {
  const format = useFormat()
  if (count === 0 && sum === 0) return '–'
  return (
    <>
      {format.money(sum)}
      <Text size="xs" c="dimmed" component="span" display="block">
        {format.number(count)} ×
      </Text>
    </>
  )
}

function Discrepancies({ day: { differences, differenceCount } }: { day: ClosedDayView }) {
  const t = useText(words)
  const r = useText(reconciliationWords)
  const format = useFormat()
  const toLink = useClientLink()
  if (differenceCount === 0) return <Text size="sm">{t.noDiscrepancies}</Text>
  const more = differenceCount - differences.length
  return (
    <Stack gap={0}>
      {differences.map(({ id, class: name, reference, atAcquirer, inLedger, state, reason }) => (
        <Group key={id} className="row" py={8} justify="space-between" gap="xs">
          <div style={{ flex: 1, minWidth: 200 }}>
            <Anchor component={Link} href={toLink('/reconciliation', { difference: id })} size="sm">
              {nameOf(name, r.classes)}
            </Anchor>
            <Text size="xs" c="dimmed" className="identifier">
              {reference}
            </Text>
            {reason && <Text size="xs">{reason}</Text>}
          </div>
          <Group gap="sm">
            <Text size="sm">
              {atAcquirer ? format.money(atAcquirer.amount) : r.nothing} /{' '}
              {inLedger ? format.money(inLedger.amount) : r.nothing}
            </Text>
            <Badge variant="light" color={state === 'open' ? 'orange' : 'gray'} tt="none" radius="sm">
              {r.outcomes[state] ?? state}
            </Badge>
          </Group>
        </Group>
      ))}
      {more > 0 && (
        <Text size="sm" c="dimmed">
          {t.more(format.number(more))}
        </Text>
      )}
    </Stack>
  )
}

function Changes({ changes }: { changes: NonNullable<ClosedDayView['changes']> }) {
  const t = useText(words)
  const r = useText(reconciliationWords)
  const format = useFormat()
  const { postedSince, totals, differences } = changes
  return (
    <Section title={t.changes}>
      <Stack gap={4}>
        {postedSince.count > 0 && (
          <Text size="sm">{t.postedSince(format.number(postedSince.count), format.money(postedSince.sum))}</Text>
        )}
        {totals.map(({ name, before, after }) => (
          <Text key={name} size="sm">
            {totalName(name, t)}: {inUnit(name, before, format)} → <b>{inUnit(name, after, format)}</b>
          </Text>
        ))}
        {differences.map(({ id, class: name, reference, before, after }) => (
          <Text key={id} size="sm" style={{ overflowWrap: 'anywhere' }}>
            {nameOf(name, r.classes)} <span className="identifier">{reference}</span>:{' '}
            {before === null ? t.notKnown : (r.outcomes[before] ?? before).toLowerCase()} →{' '}
            {after === null ? t.gone : (r.outcomes[after] ?? after).toLowerCase()}
          </Text>
        ))}
      </Stack>
    </Section>
  )
}

/** Writes a total such as `acquirer.in.sum` in words. */
function totalName(name: string, t: Record<string, unknown>): string {
  return name
    .split('.')
    .filter((part) => part !== 'sum')
    .map((part) => (typeof t[part] === 'string' ? t[part] : part === 'count' ? '×' : part))
    .join(' · ')
}

function inUnit(name: string, value: number | null, format: Format): string {
  if (value === null) return '–'
  return name.endsWith('.count') ? format.number(value) : format.money(value)
}

function nameOf(name: string, classes: Record<DiscrepancyClass, [string, string]>): string {
  return Object.entries(classes).find(([known]) => known === name)?.[1][0] ?? name
}
