import { Alert, Button, Group, Select, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { guiche } from '../../api.ts'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Section } from '../../components/page.tsx'
import { useStatusName } from '../../components/status.tsx'
import { useFormat } from '../../format.ts'
import { useRefreshEvery } from '../../live.ts'
import { useMay } from '../../session.tsx'
import { useText } from '../../text.ts'
import { words } from './text.ts'

const decisions = ['accept', 'reject', 'cancel'] as const

/** Plays the payer's bank that disputes a payment, the network that decides, and a return without notice. */
export function DisputeSection({ client }: { client: string }) {
  const t = useText(words)
  const format = useFormat()
  const nameOf = useStatusName()
  const queries = useQueryClient()
  const [chosen, setChosen] = useState<string | null>(null)
  const paid = useQuery({
    queryKey: ['sandbox', 'transactions', client, 'paid'],
    queryFn: async () => {
      const page = await guiche.transactions.list({ status: ['PAID', 'BLOCKED'], perPage: 20 }).page()
      return page.data
    },
    refetchInterval: useRefreshEvery(5_000),
  })
  // One that is no longer listed is not chosen any more.
  const payment = paid.data?.find((one) => one.endToEnd === chosen)
  const endToEnd = payment?.endToEnd ?? null
  const again = async () => await queries.invalidateQueries({ queryKey: ['sandbox', 'transactions', client] })
  const act = useMutation({
    mutationFn: async (what: 'dispute' | 'return' | (typeof decisions)[number]) => {
      if (endToEnd === null) return null
      if (what === 'dispute') await guiche.sandbox.openDispute({ endToEnd })
      else if (what === 'return') await guiche.sandbox.returnPayment({ endToEnd })
      else await guiche.sandbox.decide(endToEnd, what)
      return what
    },
    onSuccess: again,
  })
  const options = paid.data?.flatMap(({ endToEnd: value, amount, status, createdAt }) =>
    value === undefined
      ? []
      : [{ value, label: `${format.money(amount)} · ${nameOf(status)} · ${format.dateTime(createdAt)}` }],
  )
  return (
    <Section title={t.med}>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          {t.medLead}
        </Text>
        <Select
          label={t.paidOne}
          placeholder={options?.length === 0 ? t.paidNone : undefined}
          data={options ?? []}
          disabled={!options || options.length === 0}
          value={endToEnd}
          onChange={(value) => {
            setChosen(value)
            act.reset()
          }}
        />
        <Group gap="xs">
          {payment && (payment.status === 'BLOCKED' || act.data === 'dispute') ? (
            decisions.map((decision) => (
              <Button
                key={decision}
                size="xs"
                variant="default"
                loading={act.isPending}
                onClick={() => act.mutate(decision)}
              >
                {t[decision]}
              </Button>
            ))
          ) : (
            <>
              <Button disabled={endToEnd === null} loading={act.isPending} onClick={() => act.mutate('dispute')}>
                {t.dispute}
              </Button>
              <Button
                variant="default"
                disabled={endToEnd === null}
                loading={act.isPending}
                onClick={() => act.mutate('return')}
              >
                {t.returnIt}
              </Button>
            </>
          )}
        </Group>
        {act.isError && <ErrorNotice error={act.error} />}
        {act.data && (
          <Alert color="teal" role="status">
            {act.data === 'dispute' ? t.disputed : act.data === 'return' ? t.returned : t.decided}
          </Alert>
        )}
      </Stack>
    </Section>
  )
}

/** Plays the receiver of a withdrawal, who returns the money. */
export function ReturnSection({ client }: { client: string }) {
  const t = useText(words)
  const format = useFormat()
  const may = useMay()
  const [chosen, setChosen] = useState<string | null>(null)
  const sent = useQuery({
    queryKey: ['sandbox', 'withdrawals', client],
    queryFn: async () => (await guiche.withdrawals.list({ status: ['PROCESSED'], perPage: 20 }).page()).data,
    refetchInterval: useRefreshEvery(10_000),
    enabled: may('withdrawal.read'),
  })
  const id = sent.data?.find((one) => one.id === chosen)?.id ?? null
  const sendBack = useMutation({ mutationFn: async (one: string) => await guiche.sandbox.returnWithdrawal(one) })
  if (!may('withdrawal.read')) return null
  const options = sent.data?.map(({ id: value, amount, createdAt }) => ({
    value,
    label: `${format.money(amount)} · ${format.dateTime(createdAt)}`,
  }))
  return (
    <Section title={t.withdrawal}>
      <Stack gap="sm">
        <Text size="sm" c="dimmed">
          {t.withdrawalLead}
        </Text>
        <Select
          label={t.sentOne}
          placeholder={options?.length === 0 ? t.sentNone : undefined}
          data={options ?? []}
          disabled={!options || options.length === 0}
          value={id}
          onChange={setChosen}
        />
        <Group>
          <Button
            variant="default"
            disabled={id === null}
            loading={sendBack.isPending}
            onClick={() => id !== null && sendBack.mutate(id)}
          >
            {t.sendBack}
          </Button>
        </Group>
        {sendBack.isError && <ErrorNotice error={sendBack.error} />}
        {sendBack.isSuccess && (
          <Alert color="teal" role="status">
            {t.sentBack}
          </Alert>
        )}
      </Stack>
    </Section>
  )
}
