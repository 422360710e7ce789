import { Badge } from '@mantine/core'
import { useText } from '../text.ts'
import { statusNames } from '../types.ts'

const colors: Record<string, string> = {
  PAID: 'teal',
  PROCESSED: 'teal',
  PIX_QRCODE_GENERATED: 'blue',
  PENDING: 'yellow',
  PROCESSING: 'yellow',
  PROCESSING_REFUND: 'yellow',
  FAILED: 'red',
  REJECTED: 'red',
  BLOCKED: 'orange',
  PROCESSING_INFRACTION: 'orange',
  INFRACTION: 'grape',
  REFUNDED: 'grape',
  CANCELED: 'gray',
}

export function useStatusName(): (status: string) => string {
  const t = useText(statusNames)
  return (status) => t[status] ?? status
}

/** A status in words, with a color for its outcome. */
export function Status({ of: status }: { of: string }) {
  const nameOf = useStatusName()
  return (
    <Badge
      variant="light"
      color={colors[status] ?? 'gray'}
      radius="sm"
      tt="none"
      fw={600}
      style={{ flexShrink: 0, minWidth: 'max-content' }}
    >
      {nameOf(status)}
    </Badge>
  )
}
