import { Button, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { guiche } from '../../api.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Section } from '../../components/page.tsx'
import { useFormat } from '../../format.ts'
import { newIdempotencyKey } from '../../idempotency.ts'
import { useText } from '../../text.ts'
import type { Behaviour } from './pay.tsx'
import { RecordState } from './record-state.tsx'
import { words } from './text.ts'

const amount = 2590

type Scenario = { behaviour: Behaviour; expirationSeconds?: number; after?: 'openDispute' | 'returnPayment' }

/** How the simulated payer and bank behave with a new charge (`honest`: all goes well), and what follows the payment. */
const scenarios = {
  pay: { behaviour: 'honest' },
  twice: { behaviour: 'twice' },
  otherAmount: { behaviour: 'other_amount' },
  otherPayer: { behaviour: 'other_payer' },
  late: { behaviour: 'late', expirationSeconds: 60 },
  silent: { behaviour: 'callback_never' },
  dispute: { behaviour: 'honest', after: 'openDispute' },
  returned: { behaviour: 'honest', after: 'returnPayment' },
} as const satisfies Record<string, Scenario>

type Name = keyof typeof scenarios
const names = Object.keys(scenarios) as Name[]

/** One button per scenario: it creates a charge, runs the scenario and links to the transaction. */
export function Scenarios({ client }: { client: string }) {
  const t = useText(words)
  const format = useFormat()
  const queries = useQueryClient()
  const run = useMutation({
    mutationFn: runScenario,
    onSettled: async () => await queries.invalidateQueries({ queryKey: ['sandbox', 'transactions', client] }),
  })
  return (
    <Section title={t.scenarios}>
      <Text size="sm" c="dimmed" mb="sm">
        {t.scenariosLead(format.money(amount))}
      </Text>
      <SimpleGrid cols={{ base: 1, xs: 2, lg: 4 }} spacing="sm">
        {names.map((name) => {
          const { title, hint } = t.scenario[name]
          const isThis = run.variables === name
          return (
            <Stack key={name} className="scenario" gap={4}>
              <Title order={3} fz="sm">
                {title}
              </Title>
              <Text size="xs" c="dimmed" style={{ flex: 1 }}>
                {hint}
              </Text>
              {isThis && run.isError && <ErrorNotice error={run.error} />}
              {isThis && run.isSuccess && (
                <div role="status">
                  <RecordState id={run.data} />
                </div>
              )}
              <Button
                size="xs"
                mt={6}
                variant={name === 'pay' ? 'filled' : 'default'}
                loading={isThis && run.isPending}
                disabled={run.isPending}
                onClick={() => run.mutate(name)}
                aria-label={`${t.run}: ${title}`}
                style={{ alignSelf: 'flex-start' }}
              >
                {t.run}
              </Button>
            </Stack>
          )
        })}
      </SimpleGrid>
    </Section>
  )
}

/** Returns the id of the transaction. */
async function runScenario(name: Name): Promise<string> {
  const { behaviour, expirationSeconds, after }: Scenario = scenarios[name]
  const { id, pixResponse } = await guiche.transactions.create({
    amount,
    pix: { ...(expirationSeconds !== undefined && { expirationSeconds }) },
    idempotencyKey: newIdempotencyKey(),
  })
  const { endToEndId } = await guiche.sandbox.pay({ uri: pixResponse.uri, behaviour })
  if (after !== undefined) await guiche.sandbox[after]({ endToEnd: endToEndId })
  return id
}
