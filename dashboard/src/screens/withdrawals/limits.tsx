import { Button, Group, NumberInput, SimpleGrid, Skeleton, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { request, withQuery } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { useMutationForm } from '../../components/form.tsx'
import { useMerchants } from '../../components/merchant-switch.tsx'
import { MoneyInput } from '../../components/money-input.tsx'
import { Section } from '../../components/page.tsx'
import { Proposal } from '../../components/proposals.tsx'
import { useFormat } from '../../format.ts'
import { useMay } from '../../session.tsx'
import { useText } from '../../text.ts'
import type { LimitsView } from '../../types.ts'
import { words } from './text.ts'

const amounts = ['perWithdrawal', 'perDay', 'perNight', 'approvalAbove', 'operatorApprovalAbove'] as const

/** A merchant's withdrawal limits. Users who may approve withdrawals can change them. */
export function Limits({ client }: { client: string }) {
  const t = useText(words)
  const format = useFormat()
  const may = useMay()
  const [isChanging, setChanging] = useState(false)
  const limits = useQuery({
    queryKey: ['limits', client],
    queryFn: async () => await request<LimitsView>('GET', withQuery('/withdrawal-limits', { clientId: client })),
  })
  if (limits.isLoadingError) return <ErrorNotice error={limits.error} onRetry={() => void limits.refetch()} />
  const { data } = limits
  const show = (name: (typeof amounts)[number], cents: number | null) => {
    const isApproval = name === 'approvalAbove' || name === 'operatorApprovalAbove'
    if (cents === null) return isApproval ? t.never : t.noLimit
    return isApproval && cents === 0 ? t.always : format.money(cents)
  }
  return (
    <Section
      title={t.limits}
      aside={
        may('withdrawal.approve') && data ? (
          <Button variant="default" size="xs" onClick={() => setChanging(true)}>
            {t.change}
          </Button>
        ) : undefined
      }
    >
      <Text size="sm" c="dimmed" mb="sm">
        {t.limitsLead}
      </Text>
      {data ? (
        <SimpleGrid cols={{ base: 2, sm: 3, md: 6 }} spacing="md" component="dl" m={0}>
          {[
            ...amounts.map((name) => [t[name], show(name, data[name])] as const),
            [
              t.duplicateWindow,
              data.duplicateWindowSeconds === 0 ? t.off : t.minutes(format.number(data.duplicateWindowSeconds / 60)),
            ] as const,
          ].map(([name, value]) => (
            <div key={name}>
              <Text size="xs" c="dimmed" component="dt">
                {name}
              </Text>
              <Text size="sm" fw={600} component="dd" m={0}>
                {value}
              </Text>
            </div>
          ))}
        </SimpleGrid>
      ) : (
        <Skeleton height={40} />
      )}
      {data?.proposal && <Proposal proposal={data.proposal} />}
      {isChanging && data && <Change client={client} limits={data} onClose={() => setChanging(false)} />}
    </Section>
  )
}

function Change({
  client,
  limits: { proposal: _, ...current },
  onClose,
}: {
  client: string
  limits: LimitsView
  onClose: () => void
}) {
  const t = useText(words)
  const queries = useQueryClient()
  const clients = useMerchants()
  const [limits] = useState(current)
  const before = new Map<string, number | null>(Object.entries(limits))
  const changesIn = (values: typeof limits) =>
    Object.entries(values).filter(([name, value]) => value !== before.get(name))
  const saving = useMutationForm({
    initialValues: limits,
    send: async (values) => {
      // Only these: another person may have changed the other limits meanwhile.
      const changes = Object.fromEntries(changesIn(values))
      return await request<LimitsView>('PATCH', withQuery('/withdrawal-limits', { clientId: client }), changes)
    },
    onSuccess: async () => {
      await queries.invalidateQueries()
      onClose()
    },
  })
  const window = saving.input('duplicateWindowSeconds')
  const name = clients.data?.find(({ clientId }) => clientId === client)?.name ?? client
  return (
    <Confirm
      title={t.changeTitle(name)}
      isOpen
      onClose={onClose}
      confirm={t.save}
      action={saving}
      isReady={changesIn(saving.values).length > 0}
    >
      <Text size="sm" c="dimmed">
        {t.changeHint}
      </Text>
      {amounts.map((limit) => (
        <MoneyInput key={limit} {...saving.input(limit)} label={t[limit]} />
      ))}
      <Group grow>
        <NumberInput
          {...window}
          label={t.windowMinutes}
          min={0}
          max={1440}
          hideControls
          value={window.value / 60}
          onChange={(minutes) => window.onChange(Math.round(Number(minutes) * 60) || 0)}
        />
      </Group>
    </Confirm>
  )
}
