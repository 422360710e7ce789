import { Alert, Button, Group, Select, Skeleton, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { guiche, request } from '../../api.ts'
import { Dialog } from '../../components/dialog.tsx'
import { ActionForm, useMutationForm } from '../../components/form.tsx'
import { useMerchants } from '../../components/merchant-switch.tsx'
import { MoneyInput } from '../../components/money-input.tsx'
import { useFormat } from '../../format.ts'
import { useKeyUntilSuccess } from '../../idempotency.ts'
import { useClientLink, useRequestedAction } from '../../links.ts'
import { useUser } from '../../session.tsx'
import { useText } from '../../text.ts'
import type { WithdrawalPreview } from '../../types.ts'
import { PixKeyCard } from './pix-key-card.tsx'
import { words } from './text.ts'

/** Requests a withdrawal in two steps: a form, then a preview of what will happen. */
export function RequestButton({ client, label }: { client: string; label?: string }) {
  const t = useText(words)
  const [isOpen, setOpen] = useState(false)
  const [idempotencyKey, renewKey] = useKeyUntilSuccess()
  useRequestedAction('withdraw', () => setOpen(true))
  return (
    <>
      <Button onClick={() => setOpen(true)}>{label ?? t.request}</Button>
      <Dialog isOpen={isOpen} onClose={() => setOpen(false)} title={t.requestTitle} closeOnClickOutside={false}>
        <Request
          client={client}
          idempotencyKey={idempotencyKey}
          onRequested={() => {
            renewKey()
            setOpen(false)
          }}
        />
      </Dialog>
    </>
  )
}

const keyTypes = ['CPF', 'CNPJ', 'EMAIL', 'PHONE', 'EVP'] as const

function Request({
  client,
  idempotencyKey,
  onRequested,
}: {
  client: string
  idempotencyKey: string
  onRequested: () => void
}) {
  const t = useText(words)
  const format = useFormat()
  // `guiche` calls the API as the acting merchant, which is `client` (api.ts).
  const balance = useQuery({ queryKey: ['balance', client], queryFn: async () => await guiche.balance.get() })
  const previewing = useMutationForm({
    initialValues: { amount: null as number | null, key: '', type: null as string | null, externalCode: '' },
    send: async ({ amount, key, type }) =>
      await request<WithdrawalPreview>('POST', '/withdrawal/preview', {
        clientId: client,
        amount,
        key: key.trim(),
        ...(type && { type }),
      }),
  })
  const { amount, key, externalCode } = previewing.values
  if (previewing.data) {
    return (
      <Review
        client={client}
        preview={previewing.data}
        externalCode={externalCode.trim()}
        idempotencyKey={idempotencyKey}
        onBack={previewing.reset}
        onRequested={onRequested}
      />
    )
  }
  return (
    <ActionForm
      action={previewing}
      buttons={
        <Group justify="flex-end">
          <Button type="submit" loading={previewing.isPending} disabled={!amount || key.trim() === ''}>
            {t.next}
          </Button>
        </Group>
      }
    >
      {balance.data ? (
        <Text size="sm" c="dimmed">
          {t.available(format.money(balance.data.available))}
        </Text>
      ) : (
        <Skeleton height={20} />
      )}
      <MoneyInput
        {...previewing.input('amount')}
        label={t.amount}
        placeholder={format.money(0)}
        required
        data-autofocus
      />
      <TextInput {...previewing.input('key')} label={t.key} description={t.keyHint} required maxLength={77} />
      <Select
        {...previewing.input('type')}
        label={t.keyType}
        placeholder={t.detect}
        clearable
        data={keyTypes.map((value) => ({ value, label: t.keyTypes[value] }))}
      />
      <TextInput {...previewing.input('externalCode')} label={t.externalCodeOptional} minLength={8} maxLength={255} />
    </ActionForm>
  )
}

function Review({
  client,
  preview: { amount, fee, available, hold, pixKey },
  externalCode,
  idempotencyKey,
  onBack,
  onRequested,
}: {
  client: string
  preview: WithdrawalPreview
  externalCode: string
  idempotencyKey: string
  onBack: () => void
  onRequested: () => void
}) {
  const t = useText(words)
  const format = useFormat()
  const toLink = useClientLink()
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const { merchant } = useUser()
  const clients = useMerchants()
  const name = clients.data?.find(({ clientId }) => clientId === client)?.name ?? client
  // An operator's user (no merchant) also sees from whom the money leaves.
  const lead = merchant === null ? t.willBeSentOf(format.money(amount), name) : t.willBeSent(format.money(amount))
  const total = amount + fee
  const requesting = useMutation({
    mutationFn: async () =>
      await guiche.withdrawals.create({
        amount,
        pixKey,
        idempotencyKey,
        ...(externalCode !== '' && { externalCode }),
      }),
    onSuccess: ({ id }) => {
      onRequested()
      navigate(toLink(`/withdrawals/${id}`))
    },
    // Also after an error: the withdrawal may exist, and only the answer was lost.
    onSettled: async () => await queries.invalidateQueries(),
  })
  return (
    <ActionForm
      action={requesting}
      buttons={
        <Group justify="flex-end">
          <Button variant="default" onClick={onBack} disabled={requesting.isPending}>
            {t.back}
          </Button>
          <Button type="submit" loading={requesting.isPending} disabled={total > available}>
            {t.send(format.money(amount))}
          </Button>
        </Group>
      }
    >
      <Text size="sm">{lead}</Text>
      <PixKeyCard of={pixKey} />
      <Stack gap={0} component="dl" m={0}>
        {[
          [t.fee, fee],
          [t.total, total],
          [t.left, available - total],
        ].map(([name, cents]) => (
          <Group key={name} className="row" py={6} justify="space-between">
            <Text size="sm" c="dimmed" component="dt">
              {name}
            </Text>
            <Text size="sm" component="dd" m={0} fw={name === t.total ? 600 : 400}>
              {format.money(Number(cents))}
            </Text>
          </Group>
        ))}
      </Stack>
      {total > available ? (
        <Alert color="red">{t.notCovered}</Alert>
      ) : (
        <Alert color={hold ? 'orange' : 'blue'}>{hold ? t.willWait[hold] : t.noWait}</Alert>
      )}
    </ActionForm>
  )
}
