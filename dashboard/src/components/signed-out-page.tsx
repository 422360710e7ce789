import { Center, Group, Paper, SegmentedControl, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { useLanguage } from '../text.ts'

/** The page for users who are not signed in: a card in the middle. */
export function SignedOutPage({ title, lead, children }: { title: string; lead?: ReactNode; children: ReactNode }) {
  const { language, choose } = useLanguage()
  return (
    <Center mih="100vh" p="md" component="main">
      <Stack w="100%" maw={400} gap="lg">
        <Group justify="space-between">
          <Group gap={10}>
            <img src="/dashboard/icon.svg" width={34} height={34} alt="" />
            <Text fw={700} size="lg">
              Guichê
            </Text>
          </Group>
          <SegmentedControl
            size="xs"
            value={language}
            onChange={(value) => choose(value === 'pt' ? 'pt' : 'en')}
            data={[
              { value: 'en', label: 'EN' },
              { value: 'pt', label: 'PT' },
            ]}
            aria-label="Language · Idioma"
          />
        </Group>
        <Paper className="card" p="xl" shadow="sm">
          <Title order={1} size="h2" mb={lead ? 4 : 'md'}>
            {title}
          </Title>
          {lead && (
            <Text size="sm" c="dimmed" mb="md">
              {lead}
            </Text>
          )}
          {children}
        </Paper>
      </Stack>
    </Center>
  )
}
