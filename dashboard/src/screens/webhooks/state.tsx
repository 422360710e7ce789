import { Badge } from '@mantine/core'
import { useText } from '../../text.ts'
import { words } from './text.ts'

const colors: Record<string, string> = {
  waiting: 'gray',
  pending: 'yellow',
  delivered: 'teal',
  exhausted: 'red',
  gone: 'orange',
}

/** How far a delivery is. */
export function DeliveryState({ of: state }: { of: string }) {
  const t = useText(words)
  return (
    <Badge variant="light" color={colors[state] ?? 'gray'} tt="none" radius="sm" style={{ minWidth: 'max-content' }}>
      {t.states[state] ?? state}
    </Badge>
  )
}

/** `shop.example.com` of an address, which a host alone says well enough. */
export function hostOf(url: string): string {
  try {
    return new URL(url).host
  } catch {
    return url
  }
}
