import { ActionIcon, Tooltip, UnstyledButton } from '@mantine/core'
import { lazy, Suspense, useState } from 'react'
import { useLocation } from 'wouter'
import { useClientLink } from '../links.ts'
import type { ScreenEntry } from '../screens.ts'
import { screenKeys, useShortcuts } from '../shortcuts.ts'
import { texts, useText } from '../text.ts'
import { IconOf } from './icons.tsx'

const Palette = lazy(async () => await import('../palette/palette.tsx'))
const ShortcutSheet = lazy(async () => await import('../palette/shortcut-sheet.tsx'))

const words = texts({
  en: { find: 'Find', examples: 'Find customer, amount…' },
  pt: { find: 'Buscar', examples: 'Buscar cliente, valor…' },
})

type Props = { shown: readonly ScreenEntry[]; onSignOut: () => void }

/** Opens the palette, which finds everything, and listens for the dashboard's keys. */
export function FindButton({ shown, onSignOut }: Props) {
  const t = useText(words)
  const [opened, setOpened] = useState<'palette' | 'sheet' | null>(null)
  const [, navigate] = useLocation()
  const toLink = useClientLink()
  useShortcuts({
    openPalette: () => setOpened('palette'),
    openSheet: () => setOpened('sheet'),
    openScreen: (key) => {
      const path = shown.find(({ name }) => screenKeys[name] === key)?.paths[0]
      if (path === undefined) return false
      navigate(toLink(path))
      return true
    },
  })
  const close = () => setOpened(null)
  return (
    <>
      <Tooltip label={`${t.find} ( / )`}>
        <ActionIcon
          variant="subtle"
          color="gray"
          hiddenFrom="md"
          onClick={() => setOpened('palette')}
          aria-label={t.find}
        >
          <IconOf name="search" />
        </ActionIcon>
      </Tooltip>
      <UnstyledButton
        visibleFrom="md"
        className="find-field"
        onClick={() => setOpened('palette')}
        aria-keyshortcuts="/"
      >
        <IconOf name="search" size={16} />
        {t.examples}
        <kbd aria-hidden>/</kbd>
      </UnstyledButton>
      <Suspense>
        {opened === 'palette' && (
          <Palette shown={shown} onClose={close} onSheet={() => setOpened('sheet')} onSignOut={onSignOut} />
        )}
        {opened === 'sheet' && <ShortcutSheet shown={shown} onClose={close} />}
      </Suspense>
    </>
  )
}
