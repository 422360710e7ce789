import { Center, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { type Icon, IconOf } from './icons.tsx'

/** An empty state: says why nothing is shown, and what will appear here. */
export function Empty({ icon, title, children }: { icon: Icon; title: string; children?: ReactNode }) {
  return (
    <Center py={56} px="md">
      <Stack align="center" gap={6} maw={440}>
        <Text c="dimmed" component="span">
          <IconOf name={icon} size={32} />
        </Text>
        <Text fw={600} ta="center">
          {title}
        </Text>
        {children && (
          <Text size="sm" c="dimmed" ta="center" component="div">
            {children}
          </Text>
        )}
      </Stack>
    </Center>
  )
}
