import { Text } from '@mantine/core'
import type { ReactNode } from 'react'

/** A figure. Its font becomes smaller until the figure fits. */
export function Tile({
  label,
  value,
  note,
  trend,
}: {
  label: string
  value: string
  note: ReactNode
  trend?: ReactNode
}) {
  return (
    <div className="card tile">
      <Text size="sm" c="dimmed">
        {label}
      </Text>
      <Text fw={700} className="tile-value" style={{ '--length': value.length }}>
        {value}
      </Text>
      {trend}
      <Text size="xs" c="dimmed" component="div">
        {note}
      </Text>
    </div>
  )
}
