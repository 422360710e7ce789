import { Badge, Select, type SelectProps, Text } from '@mantine/core'
import { Fragment } from 'react'
import { useStatusName } from '../../components/status.tsx'
import { useFilters } from '../../filters.ts'
import { useLanguage, useText } from '../../text.ts'
import type { AttemptErrorCode } from '../../types.ts'
import { words, writeAttemptError } from './text.ts'

const colors: Record<string, string> = {
  waiting: 'gray',
  pending: 'yellow',
  delivered: 'teal',
  exhausted: 'red',
  gone: 'orange',
  canceled: 'gray',
}

/** The types of events that a list or an endpoint can be limited to. */
export const eventTypes = [
  ...[
    ...['pix_qrcode_generated', 'paid', 'failed', 'processing_refund', 'refunded'],
    ...['blocked', 'processing_infraction', 'infraction'],
  ].map((status) => `transaction.${status}`),
  ...['processing', 'processed', 'failed', 'canceled', 'refunded', 'rejected'].map((status) => `withdrawal.${status}`),
]

/** The status of a delivery. */
export function DeliveryState({ of: state }: { of: string }) {
  const t = useText(words)
  return (
    <Badge variant="light" color={colors[state] ?? 'gray'} tt="none" radius="sm" style={{ minWidth: 'max-content' }}>
      {t.states[state] ?? state}
    </Badge>
  )
}

/** The host of a URL, such as `shop.example.com`, which is enough to recognize the receiver. */
export function hostOf(url: string): string {
  try {
    return new URL(url).host
  } catch {
    return url
  }
}

/** The name of an event, which a narrow column breaks between its words. */
export function EventName({ of: type }: { of: string }) {
  return type.split(/(?<=[._])/).map((part) => (
    <Fragment key={part}>
      {part}
      <wbr />
    </Fragment>
  ))
}

/** The name of the event in the API, such as `transaction.paid`, and its meaning. */
export function EventType({ of: type }: { of: string }) {
  const nameOf = useStatusName()
  const status = type.slice(type.indexOf('.') + 1).toUpperCase()
  return (
    <>
      <Text size="sm">
        <EventName of={type} />
      </Text>
      {nameOf(status) !== status && (
        <Text size="xs" c="dimmed">
          {nameOf(status)}
        </Text>
      )}
    </>
  )
}

/** The status of a delivery and, unless it arrived, its last error. */
export function StateAndError({
  of: { state, lastError, lastErrorCode, lastStatus },
}: {
  of: { state: string; lastError: string | null; lastErrorCode: AttemptErrorCode | null; lastStatus: number | null }
}) {
  const { language } = useLanguage()
  return (
    <>
      <DeliveryState of={state} />
      {state !== 'delivered' && lastError !== null && (
        <Text size="xs" c="dimmed" mt={2} visibleFrom="sm">
          {writeAttemptError({ error: lastError, errorCode: lastErrorCode, status: lastStatus }, language)}
        </Text>
      )}
    </>
  )
}

/** Chooses a type of event. */
export function EventTypeFilter({ w }: Pick<SelectProps, 'w'>) {
  const t = useText(words)
  const filters = useFilters()
  return (
    <Select
      label={t.type}
      placeholder={t.anyType}
      data={eventTypes}
      value={filters.get('type') || null}
      onChange={(value) => filters.set({ type: value ?? '' })}
      clearable
      searchable
      w={w}
    />
  )
}
