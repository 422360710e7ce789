import { Alert, Button, Group, Select, SimpleGrid, Text, Textarea } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import { guiche } from '../../api.ts'
import { Copyable } from '../../components/copy.tsx'
import { ActionForm, useMutationForm } from '../../components/form.tsx'
import { MoneyInput } from '../../components/money-input.tsx'
import { Section } from '../../components/page.tsx'
import { useFormat } from '../../format.ts'
import { useRefreshEvery } from '../../live.ts'
import { useMay } from '../../session.tsx'
import { useText } from '../../text.ts'
import { Create } from './create.tsx'
import { RecordState } from './record-state.tsx'
import { words } from './text.ts'

export type Chosen = { id: string | null; uri: string }
export type Behaviour = NonNullable<Parameters<typeof guiche.sandbox.pay>[0]['behaviour']>

const behaviours: Behaviour[] = [
  ...(['honest', 'without_txid', 'slow', 'late', 'twice', 'other_amount', 'other_payer'] as const),
  ...(['returned', 'contested', 'callback_never', 'callback_twice', 'callback_late', 'callback_forged'] as const),
]

/** Creates a charge, and pays a charge or any pasted code. */
export function PaySections({ client }: { client: string }) {
  const may = useMay()
  const [chosen, setChosen] = useState<Chosen>({ id: null, uri: '' })
  return (
    <>
      {may('transaction.write') && <Create client={client} onChosen={setChosen} />}
      <Pay client={client} chosen={chosen} onChosen={setChosen} />
    </>
  )
}

function Pay({ client, chosen, onChosen }: { client: string; chosen: Chosen; onChosen: (chosen: Chosen) => void }) {
  const t = useText(words)
  const format = useFormat()
  const queries = useQueryClient()
  const unpaid = useQuery({
    queryKey: ['sandbox', 'transactions', client, 'unpaid'],
    queryFn: async () =>
      (await guiche.transactions.list({ status: ['PIX_QRCODE_GENERATED'], perPage: 20 }).page()).data,
    refetchInterval: useRefreshEvery(10_000),
  })
  const choose = useMutation({
    mutationFn: async (id: string) => await guiche.transactions.get(id),
    onSuccess: ({ id, pixResponse }) => onChosen({ id, uri: pixResponse.uri ?? '' }),
  })
  const pay = useMutationForm({
    initialValues: { amount: null as number | null, behaviour: null as Behaviour | null },
    send: async ({ amount, behaviour }) => {
      const paid = await guiche.sandbox.pay({
        uri: chosen.uri.trim(),
        ...(amount !== null && { amount }),
        ...(behaviour !== null && { behaviour }),
      })
      return { ...paid, id: chosen.id }
    },
    onSuccess: async () => {
      onChosen({ id: null, uri: '' })
      pay.setValues({ amount: null })
      await queries.invalidateQueries({ queryKey: ['sandbox', 'transactions', client] })
    },
  })
  const options = unpaid.data?.map(({ id, amount: cents, createdAt }) => ({
    value: id,
    label: `${format.money(cents)} · ${format.dateTime(createdAt)}`,
  }))
  // A charge that was just created is not in the list that was loaded before.
  const isListed = options?.some(({ value }) => value === chosen.id) ?? false
  return (
    <Section title={t.pay}>
      <ActionForm action={pay} isReady={chosen.uri.trim() !== ''}>
        <Select
          label={t.unpaid}
          placeholder={options?.length === 0 ? t.unpaidNone : undefined}
          data={options ?? []}
          value={isListed ? chosen.id : null}
          disabled={!options || options.length === 0}
          onChange={(id) => id !== null && choose.mutate(id)}
        />
        <Textarea
          label={t.code}
          description={t.codeHint}
          required
          autosize
          minRows={2}
          maxRows={5}
          value={chosen.uri}
          onChange={(event) => onChosen({ id: null, uri: event.currentTarget.value })}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 13 } }}
        />
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
          <Select
            {...pay.input('behaviour')}
            label={t.behaviour}
            placeholder={t.asBank}
            data={behaviours.map((value) => ({ value, label: t.behaviours[value] ?? value }))}
            clearable
          />
          <MoneyInput {...pay.input('amount')} label={t.otherAmount} />
        </SimpleGrid>
        <Group justify="flex-end">
          <Button type="submit" loading={pay.isPending} disabled={chosen.uri.trim() === ''}>
            {t.payNow}
          </Button>
        </Group>
        {pay.data && <Paid endToEndId={pay.data.endToEndId} id={pay.data.id} />}
      </ActionForm>
    </Section>
  )
}

/** The payment and the current status of its transaction. */
function Paid({ endToEndId, id }: { endToEndId: string; id: string | null }) {
  const t = useText(words)
  // On a phone the result would be below the visible area.
  const show = useCallback((element: HTMLDivElement | null) => element?.scrollIntoView({ block: 'nearest' }), [])
  return (
    <Alert ref={show} color="teal" title={t.paid} role="status">
      <Text size="xs" c="dimmed">
        {t.payment}
      </Text>
      <Copyable value={endToEndId} label={t.payment} />
      {id !== null && <RecordState id={id} />}
    </Alert>
  )
}
