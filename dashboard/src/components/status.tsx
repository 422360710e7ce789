import { Badge, type BadgeProps, Tooltip } from '@mantine/core'
import type { ComponentProps } from 'react'
import { useFormat } from '../format.ts'
import { texts, useText } from '../text.ts'
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

const words = texts({
  en: {
    refunded: 'Partly refunded',
    returned: 'Partly returned',
    kept: (kept: string, paid: string) => `${kept} of ${paid} kept`,
  },
  pt: {
    refunded: 'Devolvida em parte',
    returned: 'Devolvida em parte',
    kept: (kept: string, paid: string) => `Restam ${kept} de ${paid}`,
  },
})

/** A status in words, with a color for its outcome. */
export function Status({ of: status }: { of: string }) {
  const nameOf = useStatusName()
  return <StatusBadge color={colors[status] ?? 'gray'}>{nameOf(status)}</StatusBadge>
}

type Amounts = { amountPaid?: number; amountRefunded?: number; amountReturned?: number }

/** The status of a transaction. If it is paid and a part was given back, the status says so. */
export function TransactionStatus({ of }: { of: { status: string } & Amounts }) {
  const t = useText(words)
  const format = useFormat()
  const { status, amountPaid = 0, amountRefunded = 0, amountReturned = 0 } = of
  const gone = amountRefunded + amountReturned
  if (status !== 'PAID' || gone === 0) return <Status of={status} />
  return (
    <Tooltip
      label={t.kept(format.money(amountPaid - gone), format.money(amountPaid))}
      events={{ hover: true, focus: true, touch: true }}
    >
      <StatusBadge color="grape" tabIndex={0}>
        {amountReturned === 0 ? t.refunded : t.returned}
      </StatusBadge>
    </Tooltip>
  )
}

/** A state as a badge that never wraps and is never cut. */
export function StatusBadge(props: BadgeProps & Pick<ComponentProps<'div'>, 'ref' | 'tabIndex' | 'title'>) {
  return (
    <Badge
      variant="light"
      radius="sm"
      tt="none"
      fw={600}
      style={{ flexShrink: 0, minWidth: 'max-content' }}
      {...props}
    />
  )
}
