import { Badge } from '@mantine/core'
import { useText } from '../../text.ts'
import { words } from './text.ts'

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
