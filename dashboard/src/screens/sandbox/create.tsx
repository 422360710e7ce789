import { Anchor, Button, Group, Image, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef } from 'react'
import { guiche } from '../../api.ts'
import { CopyAction } from '../../components/copy.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { ActionForm, useMutationForm } from '../../components/form.tsx'
import { MoneyInput } from '../../components/money-input.tsx'
import { Section } from '../../components/page.tsx'
import { useFormat } from '../../format.ts'
import { useIdempotencyKey } from '../../idempotency.ts'
import { useText } from '../../text.ts'
import type { Chosen } from './pay.tsx'
import { RecordState } from './record-state.tsx'
import { words } from './text.ts'

type Charge = Awaited<ReturnType<typeof guiche.transactions.create>>

/** Creates a charge, and shows its code with a button that pays it. */
export function Create({ client, onChosen }: { client: string; onChosen: (chosen: Chosen) => void }) {
  const t = useText(words)
  const queries = useQueryClient()
  const keyOf = useIdempotencyKey()
  // Once a charge is created, a request for the same amount creates another one, so it needs a new key. A failed
  // request does not change this id, so its retry has the same key.
  const lastId = useRef<string | null>(null)
  const create = useMutationForm({
    initialValues: { amount: 2590 as number | null },
    send: async ({ amount }): Promise<Charge> =>
      await guiche.transactions.create({ amount: amount ?? 0, idempotencyKey: keyOf([amount, lastId.current]) }),
    onSuccess: async ({ id, pixResponse }) => {
      lastId.current = id
      onChosen({ id, uri: pixResponse.uri })
      await queries.invalidateQueries({ queryKey: ['sandbox', 'transactions', client] })
    },
  })
  const isReady = create.values.amount !== null
  return (
    <Section title={t.create}>
      <ActionForm action={create} isReady={isReady}>
        <Group align="flex-end">
          <MoneyInput {...create.input('amount')} label={t.amount} w={180} />
          <Button type="submit" variant="default" loading={create.isPending} disabled={!isReady}>
            {t.createNow}
          </Button>
        </Group>
      </ActionForm>
      {create.data && (
        <Created
          key={create.data.id}
          client={client}
          charge={create.data}
          onPaid={() => onChosen({ id: null, uri: '' })}
        />
      )}
    </Section>
  )
}

function Created({ client, charge, onPaid }: { client: string; charge: Charge; onPaid: () => void }) {
  const t = useText(words)
  const format = useFormat()
  const queries = useQueryClient()
  const { uri, qrCodeBase64 } = charge.pixResponse
  const pay = useMutation({
    mutationFn: async () => await guiche.sandbox.pay({ uri }),
    onSuccess: async () => {
      onPaid()
      await queries.invalidateQueries({ queryKey: ['sandbox', 'transactions', client] })
    },
  })
  return (
    <Group mt="md" align="flex-start" gap="md">
      <Image
        src={qrCodeBase64}
        alt={t.qr}
        w={148}
        style={{ background: '#fff', padding: 8, borderRadius: 8, imageRendering: 'pixelated' }}
      />
      <Stack gap="xs" align="flex-start" style={{ flex: '1 1 180px', minWidth: 0 }}>
        <Text size="sm" role="status">
          {pay.isSuccess ? t.paid : t.created(format.money(charge.amount))}
        </Text>
        <Group gap={4} wrap="nowrap" maw="100%">
          <Text size="xs" className="identifier" truncate>
            {uri}
          </Text>
          <CopyAction value={uri} label={t.code} isSmall />
        </Group>
        <Anchor href={charge.paymentUrl} target="_blank" rel="noreferrer" size="sm" underline="always">
          {t.page}
        </Anchor>
        {!pay.isSuccess && (
          <Button loading={pay.isPending} onClick={() => pay.mutate()}>
            {t.payThis}
          </Button>
        )}
        {pay.isError && <ErrorNotice error={pay.error} />}
        <RecordState id={charge.id} />
      </Stack>
    </Group>
  )
}
