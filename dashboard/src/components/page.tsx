import { Group, Stack, Text, Title } from '@mantine/core'
import { createContext, type ReactNode, useContext, useEffect } from 'react'
import { ErrorBoundary } from './error-boundary.tsx'

/** How many items of the screen need attention, for the title of the window; empty if none does. */
export const AttentionCount = createContext('')

/** A screen: its title, its purpose, its actions and its content. */
export function Page({
  title,
  lead,
  actions,
  children,
}: {
  title: string
  lead?: ReactNode
  actions?: ReactNode
  children: ReactNode
}) {
  const waiting = useContext(AttentionCount)
  useEffect(() => {
    document.title = `${waiting && `(${waiting}) `}${title} · Guichê`
  }, [title, waiting])
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-end" gap="sm">
        <div>
          <Title order={1}>{title}</Title>
          {lead && (
            <Text c="dimmed" size="sm" mt={4} maw={640}>
              {lead}
            </Text>
          )}
        </div>
        {actions && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  )
}

/** A part of a screen with its own heading. What cannot be undone has a red frame, at the end of the screen. */
export function Section({
  title,
  aside,
  isDangerous,
  children,
}: {
  title: string
  aside?: ReactNode
  isDangerous?: boolean
  children: ReactNode
}) {
  return (
    <section
      className={isDangerous ? 'card danger' : 'card'}
      aria-label={title}
      style={{ padding: 'var(--mantine-spacing-md)' }}
    >
      <Group justify="space-between" mb="sm">
        <Title order={2}>{title}</Title>
        {aside}
      </Group>
      <ErrorBoundary>{children}</ErrorBoundary>
    </section>
  )
}
