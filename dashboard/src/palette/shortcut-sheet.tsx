import { Group, Kbd, Modal, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { Fragment, type ReactNode } from 'react'
import type { ScreenEntry } from '../screens.ts'
import { navigationWords } from '../shell.tsx'
import { screenKeys } from '../shortcuts.ts'
import { useText } from '../text.ts'
import { words } from './text.ts'

const isApple = /Mac|iPhone|iPad/.test(navigator.userAgent)

/** The keys that work on every screen, and those of lists. */
export default function ShortcutSheet({ shown, onClose }: { shown: readonly ScreenEntry[]; onClose: () => void }) {
  const t = useText(words)
  const nameOf = useText(navigationWords)
  return (
    <Modal opened onClose={onClose} title={t.sheetTitle} size="lg" closeButtonProps={{ 'aria-label': t.close }}>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="xl">
        <Stack gap="lg">
          <Keys title={t.sheetEverywhere}>
            <Row name={t.sheetFind} keys={[['/'], [`${isApple ? '⌘' : 'Ctrl'} + K`]]} />
            <Row name={t.sheetKeys} keys={[['?']]} />
          </Keys>
          <Keys title={t.sheetLists}>
            <Row name={t.sheetNext} keys={[['J']]} />
            <Row name={t.sheetPrevious} keys={[['K']]} />
            <Row name={t.sheetOpen} keys={[['Enter']]} />
          </Keys>
        </Stack>
        <Keys title={t.sheetScreens}>
          {shown.map(({ name }) => {
            const key = screenKeys[name]
            return key && <Row key={name} name={nameOf[name] ?? name} keys={[['G', key.toUpperCase()]]} />
          })}
        </Keys>
      </SimpleGrid>
    </Modal>
  )
}

function Keys({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div>
      <Title order={2} size="sm" mb={4}>
        {title}
      </Title>
      {children}
    </div>
  )
}

/** @param keys alternatives; the keys of one are pressed one after another */
function Row({ name, keys }: { name: string; keys: string[][] }) {
  const t = useText(words)
  return (
    <Group className="row" justify="space-between" py={4} wrap="nowrap">
      <Text size="sm">{name}</Text>
      <Group gap={6} wrap="nowrap">
        {keys.map((sequence, index) => (
          <Fragment key={sequence.join()}>
            {index > 0 && (
              <Text size="xs" c="dimmed">
                {t.or}
              </Text>
            )}
            {sequence.map((key) => (
              <Kbd key={key}>{key}</Kbd>
            ))}
          </Fragment>
        ))}
      </Group>
    </Group>
  )
}
