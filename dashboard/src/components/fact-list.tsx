import { Group, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'

export type Fact = [name: string, value: ReactNode]

/** Names and values, one pair a line. */
export function FactList({ facts }: { facts: Fact[] }) {
  return (
    <Stack gap={0} component="dl" m={0}>
      {facts.map(([name, value]) => (
        <Group key={name} className="row" py={6} justify="space-between" wrap="nowrap" align="flex-start">
          <Text size="sm" c="dimmed" component="dt" style={{ flexShrink: 0, maxWidth: '60%' }}>
            {name}
          </Text>
          <Text size="sm" component="dd" m={0} ta="right" style={{ overflowWrap: 'anywhere', minWidth: 0 }}>
            {value}
          </Text>
        </Group>
      ))}
    </Stack>
  )
}
