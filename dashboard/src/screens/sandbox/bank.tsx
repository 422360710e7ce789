import { Alert, Button, Group, Radio, Skeleton, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { guiche } from '../../api.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Section } from '../../components/page.tsx'
import { useText } from '../../text.ts'
import { words } from './text.ts'

const names = ['honest', 'forgetful', 'late', 'careless', 'forged', 'quarrelsome', 'hostile'] as const

/** The faults that the simulated bank injects. */
export function Bank({ client }: { client: string }) {
  const t = useText(words)
  const queries = useQueryClient()
  const [chosen, setChosen] = useState<(typeof names)[number] | null>(null)
  const known = useQuery({
    queryKey: ['personality', client],
    queryFn: async () => await guiche.sandbox.personality(),
  })
  const change = useMutation({
    mutationFn: async (name: (typeof names)[number]) => await guiche.sandbox.setPersonality({ name }),
    onSuccess: async () => {
      setChosen(null)
      await queries.invalidateQueries({ queryKey: ['personality'] })
    },
  })
  const current = known.data?.name
  const shown = chosen ?? current ?? null
  return (
    <Section title={t.bank}>
      <Text size="sm" c="dimmed" mb="sm">
        {t.bankLead}
      </Text>
      {known.isPending && <Skeleton height={240} />}
      {known.isError && <ErrorNotice error={known.error} onRetry={() => void known.refetch()} />}
      {known.data && (
        <Radio.Group
          aria-label={t.bank}
          value={shown}
          onChange={(value) => {
            setChosen(names.find((name) => name === value) ?? null)
            change.reset()
          }}
        >
          <Stack gap={10}>
            {names.map((name) => (
              <Radio key={name} value={name} label={t.characters[name]} description={t.characterHints[name]} />
            ))}
          </Stack>
        </Radio.Group>
      )}
      {change.isError && <ErrorNotice error={change.error} />}
      {change.isSuccess && (
        <Alert color="teal" role="status" mt="sm">
          {t.changed}
        </Alert>
      )}
      <Group justify="flex-end" mt="sm">
        <Button
          variant="default"
          loading={change.isPending}
          disabled={chosen === null || chosen === current}
          onClick={() => chosen !== null && change.mutate(chosen)}
        >
          {t.change}
        </Button>
      </Group>
    </Section>
  )
}
