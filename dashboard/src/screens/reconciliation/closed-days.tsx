import { Badge, Button, Group, Stack, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { request, withQuery } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { DayInput } from '../../components/day-input.tsx'
import { Empty } from '../../components/empty.tsx'
import { useMutationForm } from '../../components/form.tsx'
import { RecordList } from '../../components/record-table.tsx'
import { shiftDay } from '../../days.ts'
import { useFilters } from '../../filters.ts'
import { useFormat } from '../../format.ts'
import { useClientLink } from '../../links.ts'
import { useMay } from '../../session.tsx'
import { useText } from '../../text.ts'
import type { ListedDay, ReconciliationView } from '../../types.ts'
import { Schedules } from '../month/schedules.tsx'
import { words } from './days-text.ts'
import { AcquirerSelect } from './summary.tsx'
import { words as reconciliationWords } from './text.ts'

/** Closed days with their signed totals, and a button to close a day manually. */
export function ClosedDays({
  summary,
  onRequested,
}: {
  summary: ReconciliationView | undefined
  onRequested: (id: string) => void
}) {
  const t = useText(words)
  const title = useText(reconciliationWords).days
  const format = useFormat()
  const toLink = useClientLink()
  const may = useMay()
  const filters = useFilters()
  const [isClosing, setClosing] = useState(false)
  const days = useQuery({
    queryKey: ['reconciliation', 'days', filters.page],
    queryFn: async () =>
      await request<{ total: number; totalPages: number; data: ListedDay[] }>(
        'GET',
        withQuery('/reconciliation/day', { page: filters.page }),
      ),
    placeholderData: keepPreviousData,
  })
  return (
    <Stack>
      {may('reconciliation.decide') && (
        <Group>
          <Button variant="default" onClick={() => setClosing(true)} disabled={!summary}>
            {t.close}
          </Button>
        </Group>
      )}
      <RecordList
        list={days}
        filters={filters}
        label={title}
        keyOf={({ acquirer, day }) => `${acquirer} ${day}`}
        hrefOf={({ acquirer, day }) => toLink(`/reconciliation/days/${acquirer}/${day}`)}
        empty={
          <Empty icon="reconciliation" title={t.none} guide="reconciliation">
            {t.noneHint}
          </Empty>
        }
        columns={[
          {
            name: t.day,
            cell: ({ acquirer, day, version, signedAt }) => (
              <>
                <Text size="sm" fw={600}>
                  {format.date(`${day}T12:00:00Z`)}
                </Text>
                <Text size="xs" c="dimmed">
                  {acquirer} · {t.versionFrom(format.number(version), format.fromNow(signedAt))}
                </Text>
              </>
            ),
          },
          {
            name: t.atAcquirer,
            isAmount: true,
            isHiddenOnPhone: true,
            cell: ({ closing }) => format.money(closing.acquirer),
          },
          { name: t.inLedger, isAmount: true, cell: ({ closing }) => format.money(closing.ledger) },
          {
            name: t.differences,
            isAmount: true,
            cell: ({ differences, openDiscrepancies }) => (
              <Group gap={6} justify="flex-end">
                {format.number(differences)}
                {openDiscrepancies > 0 && (
                  <Badge variant="light" color="orange" tt="none" radius="sm">
                    {t.openOnes(format.number(openDiscrepancies))}
                  </Badge>
                )}
              </Group>
            ),
          },
        ]}
      />
      <Schedules client={null} />
      {isClosing && summary && (
        <CloseDay
          summary={summary}
          onClose={() => setClosing(false)}
          onRequested={(id) => {
            setClosing(false)
            onRequested(id)
          }}
        />
      )}
    </Stack>
  )
}

function CloseDay({
  summary: { acquirers, today },
  onClose,
  onRequested,
}: {
  summary: ReconciliationView
  onClose: () => void
  onRequested: (id: string) => void
}) {
  const t = useText(words)
  const yesterday = shiftDay(today, -1)
  const close = useMutationForm({
    initialValues: { acquirer: acquirers[0] ?? '', day: yesterday },
    send: async (values) => await request<{ id: string }>('POST', '/reconciliation/day', values),
    onSuccess: ({ id }) => onRequested(id),
  })
  const { day } = close.values
  return (
    <Confirm
      title={t.close}
      isOpen
      onClose={onClose}
      confirm={t.close}
      action={close}
      isReady={day !== '' && day <= yesterday}
    >
      <Text size="sm">{t.closeLead}</Text>
      <AcquirerSelect {...close.input('acquirer')} names={acquirers} />
      <DayInput {...close.input('day')} label={t.whichDay} max={yesterday} data-autofocus />
    </Confirm>
  )
}
