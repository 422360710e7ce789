import { Badge, Button, Group, Tabs, Text } from '@mantine/core'
import { useState } from 'react'
import { request } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { DayInput } from '../../components/day-input.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { useMutationForm } from '../../components/form.tsx'
import { Page } from '../../components/page.tsx'
import { dayEnd, dayStart } from '../../days.ts'
import { useFilters } from '../../filters.ts'
import { useMay } from '../../session.tsx'
import { useText } from '../../text.ts'
import type { ReconciliationView } from '../../types.ts'
import { ClosedDays } from './closed-days.tsx'
import { Discrepancies } from './discrepancies.tsx'
import { RequestedRunNotice } from './requested-run.tsx'
import { Runs } from './runs.tsx'
import { AcquirerSelect, useSummary } from './summary.tsx'
import { SuspenseList } from './suspense-list.tsx'
import { words } from './text.ts'

const tabs = ['differences', 'suspense', 'days', 'runs'] as const

/** Discrepancies between the PSPs and the ledger, unattributed payments, closed days and runs. */
export default function Reconciliation() {
  const t = useText(words)
  const may = useMay()
  const filters = useFilters()
  const summary = useSummary()
  const [isComparing, setComparing] = useState(false)
  const tab = tabs.find((name) => name === filters.get('tab')) ?? 'differences'
  const requested = filters.get('requested')
  const open = summary.data?.open.reduce((sum, { count }) => sum + count, 0) ?? 0
  const waiting = { differences: open, suspense: summary.data?.suspense.held ?? 0, days: 0, runs: 0 }
  return (
    <Page
      title={t.title}
      lead={t.lead}
      actions={
        may('reconciliation.decide') && (
          <Button onClick={() => setComparing(true)} disabled={!summary.data}>
            {t.compare}
          </Button>
        )
      }
    >
      {summary.isError && <ErrorNotice error={summary.error} onRetry={() => void summary.refetch()} />}
      {requested !== '' && (
        <RequestedRunNotice key={requested} id={requested} onClose={() => filters.set({ requested: '' })} />
      )}
      <Tabs
        value={tab}
        className="tabs"
        keepMounted={false}
        onChange={(name) =>
          filters.set({
            tab: name === 'differences' ? '' : (name ?? ''),
            state: '',
            class: '',
            acquirer: '',
            kind: '',
            difference: '',
          })
        }
      >
        <Tabs.List>
          {tabs.map((name) => (
            <Tabs.Tab
              key={name}
              value={name}
              rightSection={
                waiting[name] > 0 ? (
                  <Badge size="sm" variant="light" color="orange" radius="sm">
                    {waiting[name]}
                  </Badge>
                ) : undefined
              }
            >
              {t[name]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="differences" pt="md">
          <Discrepancies summary={summary.data} />
        </Tabs.Panel>
        <Tabs.Panel value="suspense" pt="md">
          <SuspenseList />
        </Tabs.Panel>
        <Tabs.Panel value="days" pt="md">
          <ClosedDays summary={summary.data} onRequested={(id) => filters.set({ requested: id })} />
        </Tabs.Panel>
        <Tabs.Panel value="runs" pt="md">
          <Runs summary={summary.data} />
        </Tabs.Panel>
      </Tabs>
      {isComparing && summary.data && (
        <Compare
          summary={summary.data}
          onClose={() => setComparing(false)}
          onRequested={(id) => {
            setComparing(false)
            filters.set({ requested: id })
          }}
        />
      )}
    </Page>
  )
}

function Compare({
  summary: { acquirers, today },
  onClose,
  onRequested,
}: {
  summary: ReconciliationView
  onClose: () => void
  onRequested: (id: string) => void
}) {
  const t = useText(words)
  const start = useMutationForm({
    initialValues: { acquirer: acquirers[0] ?? '', from: today, to: today },
    send: async ({ acquirer, from, to }) =>
      await request<{ id: string }>('POST', '/reconciliation/run', { acquirer, from: dayStart(from), to: dayEnd(to) }),
    onSuccess: ({ id }) => onRequested(id),
  })
  const { from, to } = start.values
  return (
    <Confirm
      title={t.compare}
      isOpen
      onClose={onClose}
      confirm={t.start}
      action={start}
      isReady={from !== '' && to !== '' && from <= to}
    >
      <Text size="sm">{t.compareLead}</Text>
      <AcquirerSelect {...start.input('acquirer')} names={acquirers} />
      <Group grow>
        <DayInput {...start.input('from')} label={t.from} max={today} />
        <DayInput {...start.input('to')} label={t.until} max={today} />
      </Group>
    </Confirm>
  )
}
