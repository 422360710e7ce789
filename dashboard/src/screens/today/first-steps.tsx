import { Anchor, Button, Group, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from 'wouter'
import { request } from '../../api.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { IconOf } from '../../components/icons.tsx'
import { Section } from '../../components/page.tsx'
import { useClientLink } from '../../links.ts'
import { useMay } from '../../session.tsx'
import { useLanguage, useText } from '../../text.ts'
import type { FirstStep, FirstSteps } from '../../types.ts'
import { words } from './first-steps-text.ts'

/** Where a step is done, and the permission that it needs. */
const places: Record<FirstStep, { path: string; permission: string | null }> = {
  merchant: { path: '/credentials', permission: 'credential.write' },
  charge: { path: '/charge', permission: 'transaction.write' },
  payment: { path: '/transactions', permission: 'transaction.read' },
  receiver: { path: '/webhooks', permission: 'webhook.write' },
  delivery: { path: '/webhooks', permission: 'webhook.read' },
  withdrawal: { path: '/withdrawals', permission: 'withdrawal.write' },
  colleague: { path: '/users', permission: 'user.write' },
  secondFactor: { path: '/account', permission: null },
  psp: { path: '/guide/going-live.html', permission: 'system.read' },
}

/** What a new installation or merchant does first, until all of it is done or the user dismisses the list. */
export function FirstStepsCard() {
  const t = useText(words)
  const may = useMay()
  const queries = useQueryClient()
  const answer = useQuery({
    queryKey: ['first-steps'],
    queryFn: async () => await request<FirstSteps>('GET', '/first-steps'),
    // Steps are also done on other screens, through the API and by other people.
    refetchInterval: ({ state }) => (state.data?.isDismissed === false ? 15_000 : false),
  })
  const dismissing = useMutation({
    mutationFn: async () => await request<FirstSteps>('PUT', '/first-steps', { isDismissed: true }),
    onSuccess: (next) => queries.setQueryData(['first-steps'], next),
  })
  const steps = (answer.data?.steps ?? []).filter(({ name }) => {
    const { permission } = places[name]
    return permission === null || may(permission)
  })
  const done = steps.filter(({ isDone }) => isDone).length
  if (done === steps.length) return null
  const next = steps.find(({ isDone }) => !isDone)?.name
  return (
    <Section
      title={t.title}
      aside={
        <Button size="compact-sm" variant="subtle" loading={dismissing.isPending} onClick={() => dismissing.mutate()}>
          {t.dismiss}
        </Button>
      }
    >
      <Group gap="sm" mb="xs" wrap="nowrap">
        <progress className="steps-bar" value={done} max={steps.length} aria-hidden />
        <Text size="xs" c="dimmed">
          {t.lead(done, steps.length)}
        </Text>
      </Group>
      {dismissing.isError && <ErrorNotice error={dismissing.error} />}
      <ol className="steps">
        {steps.map(({ name, isDone }) => (
          <Step key={name} name={name} isDone={isDone} isNext={name === next} />
        ))}
      </ol>
    </Section>
  )
}

function Step({ name, isDone, isNext }: { name: FirstStep; isDone: boolean; isNext: boolean }) {
  const t = useText(words)
  const { language } = useLanguage()
  const toLink = useClientLink()
  const { title, hint } = t.steps[name]
  const { path } = places[name]
  const label = `${t.open}: ${title}`
  const isGuide = path.startsWith('/guide/')
  return (
    <li className="row step" data-done={isDone || undefined}>
      <span className="step-mark">{isDone && <IconOf name="check" size={14} />}</span>
      <div style={{ flex: 1, minWidth: 0 }}>
        <Text size="sm" fw={isNext ? 600 : 500} c={isDone ? 'dimmed' : undefined}>
          {title}
          {isDone && <span className="unseen"> ({t.done})</span>}
        </Text>
        {isNext && (
          <Text size="xs" c="dimmed">
            {hint}
          </Text>
        )}
      </div>
      {!isDone &&
        (isGuide ? (
          <Anchor
            href={language === 'pt' ? path.replace('/guide/', '/guide/pt/') : path}
            target="_blank"
            size="sm"
            aria-label={label}
          >
            {t.open}
          </Anchor>
        ) : (
          <Anchor component={Link} href={toLink(path)} size="sm" aria-label={label}>
            {t.open}
          </Anchor>
        ))}
    </li>
  )
}
