import { Alert, Button, Group, Radio, Skeleton, Stack, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { guiche } from '../../api.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { ActionForm, useMutationForm } from '../../components/form.tsx'
import { Section } from '../../components/page.tsx'
import { useText } from '../../text.ts'
import { words } from './text.ts'

const names = ['honest', 'forgetful', 'late', 'careless', 'forged', 'quarrelsome', 'hostile'] as const

/** The faults that the simulated bank injects. */
export function Bank({ client }: { client: string }) {
  const t = useText(words)
  const queries = useQueryClient()
  const known = useQuery({
    queryKey: ['personality', client],
    queryFn: async () => await guiche.sandbox.personality(),
  })
  const change = useMutationForm({
    initialValues: { name: null as (typeof names)[number] | null },
    send: async ({ name }) => name && (await guiche.sandbox.setPersonality({ name })),
    onSuccess: async () => {
      change.clear()
      await queries.invalidateQueries({ queryKey: ['personality'] })
    },
  })
  const current = known.data?.name
  const chosen = change.values.name
  const isReady = chosen !== null && chosen !== current
  return (
    <Section title={t.bank}>
      <Text size="sm" c="dimmed" mb="sm">
        {t.bankLead}
      </Text>
      {known.isPending && <Skeleton height={240} />}
      {known.isError && <ErrorNotice error={known.error} onRetry={() => void known.refetch()} />}
      <ActionForm
        action={change}
        isReady={isReady}
        buttons={
          <Group justify="flex-end">
            <Button type="submit" variant="default" loading={change.isPending} disabled={!isReady}>
              {t.change}
            </Button>
          </Group>
        }
      >
        {known.data && (
          <Radio.Group {...change.input('name')} aria-label={t.bank} value={chosen ?? current ?? null}>
            <Stack gap={10}>
              {names.map((name) => (
                <Radio key={name} value={name} label={t.profileNames[name]} description={t.profileHints[name]} />
              ))}
            </Stack>
          </Radio.Group>
        )}
        {change.isSuccess && !isReady && (
          <Alert color="teal" role="status">
            {t.changed}
          </Alert>
        )}
      </ActionForm>
    </Section>
  )
}
