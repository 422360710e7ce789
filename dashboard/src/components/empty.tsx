import { Center, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { texts, useText } from '../text.ts'
import { type Icon, IconOf } from './icons.tsx'

const words = texts({ en: { hint: 'Change or remove a filter.' }, pt: { hint: 'Altere ou remova um filtro.' } })

type Props = { icon: Icon; title: string; children?: ReactNode }

/** An empty list: says that nothing matches its filters or, without filters, what will appear here. */
export function EmptyList({ isFiltered, noneFound, ...none }: { isFiltered: boolean; noneFound: string } & Props) {
  const t = useText(words)
  return isFiltered ? (
    <Empty icon="filter" title={noneFound}>
      {t.hint}
    </Empty>
  ) : (
    <Empty {...none} />
  )
}

/** An empty state: says why nothing is shown, and what will appear here. */
export function Empty({ icon, title, children }: Props) {
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
