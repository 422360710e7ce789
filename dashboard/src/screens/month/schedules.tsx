import { Alert, Badge, Button, Group, MultiSelect, Select, Skeleton, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { request, withQuery } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { useMutationForm } from '../../components/form.tsx'
import { Section } from '../../components/page.tsx'
import { useFormat } from '../../format.ts'
import { newUuid, useKeyUntilSuccess } from '../../idempotency.ts'
import { useMay } from '../../session.tsx'
import { useLanguage, useText } from '../../text.ts'
import type { ReportSchedules } from '../../types.ts'
import { words } from './schedules-text.ts'
import { words as monthWords } from './text.ts'

type Schedule = ReportSchedules['data'][number]

const formatsOf: Record<string, readonly ['csv' | 'excel' | 'ofx' | 'pdf', ...('csv' | 'excel' | 'ofx' | 'pdf')[]]> = {
  transactions: ['excel', 'csv'],
  withdrawals: ['excel', 'csv'],
  statement: ['ofx', 'excel', 'csv'],
  fees: ['pdf', 'excel', 'csv'],
  closed_day: ['pdf'],
}

/** The reports that are sent by e-mail: those of a merchant, or of closed days for the operator if `client` is null. */
export function Schedules({ client }: { client: string | null }) {
  const t = useText(words)
  const may = useMay()
  const [isAdding, setAdding] = useState(false)
  const [newId, renewId] = useKeyUntilSuccess(newUuid)
  const mayWrite = may('report.write')
  const schedules = useQuery({
    queryKey: ['report-schedules', client],
    queryFn: async () => await request<ReportSchedules>('GET', withQuery('/report/schedule', { clientId: client })),
    refetchInterval: 15_000,
    enabled: mayWrite,
  })
  if (!mayWrite) return null
  const { data } = schedules
  return (
    <Section
      title={t.title}
      aside={
        <Button size="xs" variant="default" onClick={() => setAdding(true)} disabled={!data}>
          {t.add}
        </Button>
      }
    >
      <Text size="sm" c="dimmed" mb="xs">
        {t.lead}
      </Text>
      {schedules.isError && <ErrorNotice error={schedules.error} onRetry={() => void schedules.refetch()} />}
      {data ? (
        <Stack gap="xs">
          {!data.hasMail && <Alert color="yellow">{t.noMail}</Alert>}
          {data.data.length === 0 && <Text size="sm">{t.none}</Text>}
          <div>
            {data.data.map((schedule) => (
              <Line key={schedule.id} of={schedule} client={client} />
            ))}
          </div>
        </Stack>
      ) : (
        <Skeleton height={80} />
      )}
      {isAdding && data && (
        <Add client={client} newId={newId} onAdded={renewId} schedules={data} onClose={() => setAdding(false)} />
      )}
    </Section>
  )
}

function Line({ of: schedule, client }: { of: Schedule; client: string | null }) {
  const t = useText(words)
  const m = useText(monthWords)
  const format = useFormat()
  const refresh = useRefresh(client)
  const [isRemoving, setRemoving] = useState(false)
  const path = withQuery(`/report/schedule/${schedule.id}`, { clientId: client })
  const pausing = useMutation({
    mutationFn: async () => await request('PATCH', path, { isPaused: !schedule.isPaused }),
    onSuccess: refresh,
  })
  const removing = useMutation({
    mutationFn: async () => await request('DELETE', path),
    onSuccess: refresh,
  })
  const formats: Record<string, string> = m.formats
  const name = `${t.reports[schedule.report] ?? schedule.report} (${formats[schedule.format] ?? schedule.format})`
  return (
    <Group className="row" py="xs" justify="space-between" gap="xs">
      <div style={{ flex: '1 1 260px', minWidth: 0 }}>
        <Group gap={6}>
          <Text size="sm" fw={600}>
            {name}
          </Text>
          {schedule.isPaused && (
            <Badge variant="light" color="gray" tt="none" radius="sm">
              {t.paused}
            </Badge>
          )}
        </Group>
        <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {[
            t.everyNames[schedule.every],
            schedule.isPaused ? '' : t.next(format.dateTime(schedule.dueAt)),
            schedule.recipients.map(({ email }) => email).join(', '),
          ]
            .filter(Boolean)
            .join(' · ')}
        </Text>
        <Last of={schedule.last} />
        {pausing.isError && <ErrorNotice error={pausing.error} />}
      </div>
      <Group gap={6}>
        <Button
          size="xs"
          variant="default"
          loading={pausing.isPending}
          onClick={() => pausing.mutate()}
          aria-label={schedule.isPaused ? t.resumeOf(name) : t.pauseOf(name)}
        >
          {schedule.isPaused ? t.resume : t.pause}
        </Button>
        <Button size="xs" variant="subtle" color="red" onClick={() => setRemoving(true)} aria-label={t.removeOf(name)}>
          {t.remove}
        </Button>
      </Group>
      <Confirm
        title={t.removeOf(name)}
        isOpen={isRemoving}
        onClose={() => setRemoving(false)}
        confirm={t.remove}
        isDangerous
        action={removing}
      >
        <Text size="sm">{t.removeLead(name)}</Text>
      </Confirm>
    </Group>
  )
}

/** Whether the report of the last period was sent. */
function Last({ of: last }: { of: Schedule['last'] }) {
  const t = useText(words)
  const format = useFormat()
  if (last === null)
    return (
      <Text size="xs" c="dimmed">
        {t.neverSent}
      </Text>
    )
  const period = t.period(format.day(last.from), format.day(last.until))
  const isFine = last.outcome === 'sent' || (last.outcome === null && last.error === null)
  return (
    <Text size="xs" c={isFine ? 'dimmed' : 'var(--mantine-color-red-light-color)'}>
      {last.outcome !== null
        ? t.outcomes[last.outcome](period, format.fromNow(last.finishedAt ?? ''), t.errorOf(last.error ?? ''))
        : last.error === null
          ? t.sending(period)
          : t.failing(period, format.number(last.attempts), t.errorOf(last.error))}
    </Text>
  )
}

function Add({
  client,
  newId,
  onAdded,
  schedules: { candidates },
  onClose,
}: {
  client: string | null
  newId: string
  onAdded: () => void
  schedules: ReportSchedules
  onClose: () => void
}) {
  const t = useText(words)
  const m = useText(monthWords)
  const { language } = useLanguage()
  const refresh = useRefresh(client)
  const reports = client === null ? ['closed_day'] : ['transactions', 'withdrawals', 'statement', 'fees']
  const adding = useMutationForm({
    initialValues: {
      report: client === null ? 'closed_day' : 'fees',
      format: 'pdf',
      every: client === null ? 'day' : 'month',
      by: 'posted',
      recipients: [] as string[],
    },
    send: async (values) =>
      await request('POST', withQuery('/report/schedule', { clientId: client }), { ...values, language, id: newId }),
    onSuccess: async () => {
      onAdded()
      await refresh()
      onClose()
    },
  })
  const { report, recipients } = adding.values
  const readers = candidates.filter((person) => person.reports.includes(report))
  const choose = (chosen: string | null) => {
    if (chosen === null) return
    const may = new Set(candidates.filter((one) => one.reports.includes(chosen)).map(({ id }) => id))
    const format = formatsOf[chosen]?.[0] ?? 'csv'
    adding.setValues({ report: chosen, format, recipients: recipients.filter((id) => may.has(id)) })
  }
  return (
    <Confirm title={t.add} isOpen onClose={onClose} confirm={t.save} action={adding} isReady={recipients.length > 0}>
      <Select
        label={t.report}
        data={reports.map((value) => ({ value, label: t.reports[value] ?? value }))}
        value={report}
        allowDeselect={false}
        onChange={choose}
        data-autofocus
      />
      <Select
        {...adding.input('format')}
        label={t.format}
        data={(formatsOf[report] ?? []).map((value) => ({ value, label: m.formats[value] }))}
        allowDeselect={false}
      />
      <Select
        {...adding.input('every')}
        label={t.every}
        data={(client === null ? ['day'] : ['day', 'week', 'month']).map((value) => ({
          value,
          label: t.everyNames[value] ?? value,
        }))}
        allowDeselect={false}
      />
      {(report === 'transactions' || report === 'withdrawals') && (
        <Select
          {...adding.input('by')}
          label={t.by}
          data={Object.entries(m.reportDates).map(([value, label]) => ({ value, label }))}
          allowDeselect={false}
        />
      )}
      <MultiSelect
        {...adding.input('recipients')}
        label={t.recipients}
        description={t.recipientsLead}
        data={readers.map(({ id, name, email }) => ({ value: id, label: `${name} · ${email}` }))}
        searchable
        maxValues={10}
      />
    </Confirm>
  )
}

function useRefresh(client: string | null) {
  const queries = useQueryClient()
  return async () => await queries.invalidateQueries({ queryKey: ['report-schedules', client] })
}
