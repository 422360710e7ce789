import { Group, Stack, Text, Title } from '@mantine/core'
import { type ReactNode, useEffect } from 'react'
import { ErrorBoundary } from './error-boundary.tsx'

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
  useEffect(() => {
    document.title = `${title} · Guichê`
  }, [title])
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

/** A part of a screen with its own heading. */
export function Section({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  return (
    <section className="card" aria-label={title} style={{ padding: 'var(--mantine-spacing-md)' }}>
      <Group justify="space-between" mb="sm">
        <Title order={2}>{title}</Title>
        {aside}
      </Group>
      <ErrorBoundary>{children}</ErrorBoundary>
    </section>
  )
}
