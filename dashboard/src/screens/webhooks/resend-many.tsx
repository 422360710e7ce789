import { Alert, Button, Checkbox, Group, Modal, Progress, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { request, withQuery } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { DayTimeInput } from '../../components/day-input.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { useMutationForm } from '../../components/form.tsx'
import { ResultDialog } from '../../components/selection.tsx'
import { minuteInBrasilia, withOffset } from '../../days.ts'
import { useFormat } from '../../format.ts'
import { newUuid, useIdempotencyKey } from '../../idempotency.ts'
import { useText } from '../../text.ts'
import type { ResendPreview, ResendProgress } from '../../types.ts'
import { hostOf } from './state.tsx'
import { words } from './text.ts'

const allStates = ['exhausted', 'gone', 'canceled', 'pending', 'delivered']
const dayMs = 24 * 60 * 60_000

type Period = { clientId: string; from: string; until: string }

/** Resends the deliveries of a period: choose, preview the count and receivers, confirm, and watch the progress. */
export function ResendMany({ client, onClose }: { client: string; onClose: () => void }) {
  const t = useText(words)
  const format = useFormat()
  const queries = useQueryClient()
  const idOf = useIdempotencyKey(newUuid)
  const send = useMutationForm({
    initialValues: {
      from: minuteInBrasilia(new Date(Date.now() - dayMs)),
      until: minuteInBrasilia(new Date(Date.now() + 60_000)),
      states: ['exhausted', 'gone', 'pending'],
    },
    send: async (values) => {
      const body = { ...toPeriod(client, values.from, values.until), states: values.states }
      return await request<{ resendId: string; count: number }>('PUT', `/webhook/resend/${idOf(body)}`, body)
    },
    onSuccess: async () => await queries.invalidateQueries({ queryKey: ['deliveries'] }),
  })
  const { from, until, states } = send.values
  const period = toPeriod(client, from, until)
  const preview = useQuery({
    queryKey: ['resend', client, from, until, states],
    queryFn: async () => {
      const query = new URLSearchParams(period ?? {})
      for (const state of states) query.append('state', state)
      return await request<ResendPreview & { max: number }>('GET', `/webhook/resend?${query}`)
    },
    enabled: period !== null && states.length > 0,
    staleTime: 0,
    gcTime: 0,
  })
  if (send.data?.count === 0) return <ResultDialog sentence={t.noneResent} onClose={onClose} />
  if (send.data) {
    const { resendId, count } = send.data
    return <Sent resendId={resendId} client={client} count={count} onClose={onClose} />
  }
  const count = preview.data?.total ?? 0
  return (
    <Confirm
      title={t.many}
      isOpen
      onClose={onClose}
      confirm={t.sendMany(format.number(count))}
      action={send}
      isReady={count > 0 && preview.data?.isTooMany === false && !preview.isFetching}
    >
      <Text size="sm">{t.manyLead}</Text>
      <DayTimeInput {...send.input('from')} label={t.from} />
      <DayTimeInput {...send.input('until')} label={t.until} />
      <Checkbox.Group {...send.input('states')} label={t.which}>
        <Stack gap={8} mt={6}>
          {allStates.map((state) => (
            <Checkbox key={state} value={state} label={t.whichStates[state]} />
          ))}
        </Stack>
      </Checkbox.Group>
      {period === null ? (
        <Alert color="yellow">{t.invalid}</Alert>
      ) : (
        <Preview preview={preview} isStateChosen={states.length > 0} />
      )}
    </Confirm>
  )
}

function Preview({
  preview: { data, isError, error },
  isStateChosen,
}: {
  preview: { data: (ResendPreview & { max: number }) | undefined; isError: boolean; error: unknown }
  isStateChosen: boolean
}) {
  const t = useText(words)
  const format = useFormat()
  if (!isStateChosen) return <Alert color="gray">{t.previewNone}</Alert>
  if (isError) return <ErrorNotice error={error} />
  if (!data) return <Skeleton height={72} />
  if (data.isTooMany) return <Alert color="yellow">{t.tooMany(format.number(data.max))}</Alert>
  if (data.total === 0) return <Alert color="gray">{t.previewNone}</Alert>
  return (
    <Alert color="blue" role="status">
      <Text size="sm" fw={600}>
        {data.total === 1 ? t.previewOne : t.preview(format.number(data.total), data.receivers.length)}
      </Text>
      {data.receivers.map(({ receiver, count }) => (
        <Group key={receiver} justify="space-between" gap="xs">
          <Text size="xs" className="identifier">
            {hostOf(receiver)}
          </Text>
          <Text size="xs">{format.number(count)}</Text>
        </Group>
      ))}
    </Alert>
  )
}

/** The progress of a resend. `count` is at least 1. */
export function Sent({
  resendId,
  client,
  count,
  onClose,
  children,
}: {
  resendId: string
  client: string
  count: number
  onClose: () => void
  children?: ReactNode
}) {
  const t = useText(words)
  const format = useFormat()
  const progress = useQuery({
    queryKey: ['resend', resendId],
    queryFn: async () =>
      await request<ResendProgress>('GET', withQuery(`/webhook/resend/${resendId}`, { clientId: client })),
    refetchInterval: ({ state: { data } }) => (data && data.waiting === 0 ? false : 1_000),
  })
  const { delivered = 0, waiting = count, failing = 0, givenUp = 0 } = progress.data ?? {}
  const share = (part: number) => (100 * part) / count
  return (
    <Modal opened onClose={onClose} title={t.resend} centered closeButtonProps={{ 'aria-label': t.close }}>
      <Stack>
        <Progress.Root size="lg" aria-label={t.resend}>
          <Progress.Section
            value={share(delivered)}
            color="teal"
            aria-label={t.progress(String(delivered), String(count))}
          />
          <Progress.Section value={share(failing)} color="orange" aria-label={t.progressFailing(String(failing))} />
          <Progress.Section value={share(givenUp)} color="red" aria-label={t.progressGivenUp(String(givenUp))} />
        </Progress.Root>
        <div role="status">
          <Text size="sm" fw={600}>
            {delivered === count ? t.progressDone : t.progress(format.number(delivered), format.number(count))}
          </Text>
          {failing > 0 && <Text size="sm">{t.progressFailing(format.number(failing))}</Text>}
          {givenUp > 0 && <Text size="sm">{t.progressGivenUp(format.number(givenUp))}</Text>}
        </div>
        {children}
        {progress.isError && <ErrorNotice error={progress.error} />}
        <Group justify="space-between">
          <Text size="xs" c="dimmed">
            {waiting > 0 && t.background}
          </Text>
          <Button onClick={onClose}>{t.close}</Button>
        </Group>
      </Stack>
    </Modal>
  )
}

function toPeriod(clientId: string, from: string, until: string): Period | null {
  if (from === '' || until === '' || from > until) return null
  return { clientId, from: withOffset(`${from}:00.000`), until: withOffset(`${until}:59.999`) }
}
