import { Alert, Button, Group, Select, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask, faultsOf, withQuery } from '../../api.ts'
import { useClients } from '../../components/client-switch.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { MoneyInput } from '../../components/money-input.tsx'
import { useFormat } from '../../format.ts'
import { newIdempotencyKey } from '../../idempotency.ts'
import { useText } from '../../text.ts'
import type { EntriesView, EntryPreview, EntryType, LedgerView } from '../../types.ts'
import { words } from './entries-text.ts'
import { words as ledgerWords } from './text.ts'

const manualAccounts = ['available', 'fees', 'debt', 'acquirer'] as const
type ManualAccount = (typeof manualAccounts)[number]

type Wanted = {
  type: EntryType
  client: string | null
  acquirer: string | null
  amount: number | null
  debit: ManualAccount | null
  credit: ManualAccount | null
  reference: string
  description: string
}

/** The fields of each entry type, besides those that all types have. */
const fieldsOf: Record<EntryType, { client: 'required' | 'optional' | 'none'; reference: boolean }> = {
  pay_in: { client: 'optional', reference: true },
  fee_draw: { client: 'none', reference: true },
  psp_fee: { client: 'none', reference: true },
  write_off: { client: 'required', reference: false },
  manual_entry: { client: 'optional', reference: false },
}
const types = Object.keys(fieldsOf) as EntryType[]

/** The posted entries, and the PSP accounts that an entry can name. */
export function useEntries(client: string | null) {
  return useQuery({
    queryKey: ['entries', client],
    queryFn: async () => await ask<EntriesView>('GET', withQuery('/entry', { clientId: client })),
  })
}

/** Posts an entry in two steps: a form, then a preview of the transfers. */
export function EntryForm({ client, onClose }: { client: string | null; onClose: () => void }) {
  const queries = useQueryClient()
  const entries = useEntries(client)
  const [idempotencyKey] = useState(newIdempotencyKey)
  const acquirers = entries.data?.acquirers ?? []
  const [wanted, setWanted] = useState<Wanted>({
    type: 'pay_in',
    client,
    acquirer: null,
    amount: null,
    debit: null,
    credit: null,
    reference: '',
    description: '',
  })
  // If there is only one PSP, it is chosen automatically.
  const acquirer = wanted.acquirer ?? (acquirers.length === 1 ? (acquirers[0] ?? null) : null)
  const { type, amount, debit, credit } = wanted
  const reference = wanted.reference.trim()
  const body = {
    type,
    ...(fieldsOf[type].client !== 'none' && wanted.client !== null && { clientId: wanted.client }),
    acquirer,
    amount,
    ...(fieldsOf[type].reference && reference !== '' && { reference }),
    description: wanted.description.trim(),
    ...(type === 'manual_entry' && { debit, credit }),
    idempotencyKey,
  }
  const previewing = useMutation({ mutationFn: async () => await ask<EntryPreview>('POST', '/entry/preview', body) })
  const booking = useMutation({
    mutationFn: async () => await ask('POST', '/entry', body),
    onSuccess: async () => {
      onClose()
      await queries.invalidateQueries()
    },
  })
  if (previewing.data) {
    return (
      <Review
        wanted={{ ...wanted, acquirer }}
        preview={previewing.data}
        booking={booking}
        onBack={() => {
          previewing.reset()
          booking.reset()
        }}
      />
    )
  }
  return (
    <Form
      wanted={{ ...wanted, acquirer }}
      acquirers={acquirers}
      isClientFixed={client !== null}
      onChange={(change) => {
        setWanted({ ...wanted, ...change })
        // The errors belong to the previous values of the fields.
        if (previewing.isError) previewing.reset()
      }}
      previewing={previewing}
    />
  )
}

function Form({
  wanted,
  acquirers,
  isClientFixed,
  onChange,
  previewing,
}: {
  wanted: Wanted
  acquirers: string[]
  isClientFixed: boolean
  onChange: (change: Partial<Wanted>) => void
  previewing: { mutate: () => void; isPending: boolean; error: Error | null }
}) {
  const t = useText(words)
  const { type, client, acquirer, amount, debit, credit, reference, description } = wanted
  const fields = fieldsOf[type]
  const clients = useClients()
  const hint = useHint(type, client)
  const faults = faultsOf(previewing.error)
  const isReady =
    amount !== null &&
    amount > 0 &&
    acquirer !== null &&
    description.trim().length >= 3 &&
    (fields.client !== 'required' || client !== null) &&
    (type !== 'manual_entry' || (debit !== null && credit !== null))
  const accounts = manualAccounts.map((value) => ({ value, label: t.accounts[value] }))
  const toAccount = (value: string | null) => manualAccounts.find((account) => account === value) ?? null
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        if (isReady) previewing.mutate()
      }}
    >
      <Stack>
        <Select
          label={t.type}
          description={t.types[type][1]}
          allowDeselect={false}
          data={types
            .filter((one) => !isClientFixed || fieldsOf[one].client !== 'none')
            .map((value) => ({ value, label: t.types[value][0] }))}
          value={type}
          onChange={(value) => onChange({ type: types.find((one) => one === value) ?? type })}
        />
        {fields.client !== 'none' && (
          <Select
            label={t.client}
            required={fields.client === 'required'}
            {...(fields.client === 'optional' && { placeholder: t.operators, clearable: !isClientFixed })}
            searchable
            disabled={isClientFixed}
            nothingFoundMessage={t.noClient}
            limit={50}
            data={(clients.data ?? []).map(({ clientId, name }) => ({ value: clientId, label: name }))}
            value={client}
            onChange={(value) => onChange({ client: value })}
            error={faults.clientId}
          />
        )}
        {acquirers.length > 1 && (
          <Select
            label={t.acquirer}
            required
            data={acquirers}
            value={acquirer}
            onChange={(value) => onChange({ acquirer: value })}
            error={faults.acquirer}
          />
        )}
        {type === 'manual_entry' && (
          <SimpleGrid cols={2} spacing="sm">
            <Select
              label={t.debit}
              required
              data={accounts}
              value={debit}
              onChange={(value) => onChange({ debit: toAccount(value) })}
              error={faults.debit}
            />
            <Select
              label={t.credit}
              required
              data={accounts}
              value={credit}
              onChange={(value) => onChange({ credit: toAccount(value) })}
              error={faults.credit}
            />
          </SimpleGrid>
        )}
        <MoneyInput
          label={t.amount}
          description={hint}
          required
          value={amount}
          onChange={(value) => onChange({ amount: value })}
          error={faults.amount}
        />
        {fields.reference && (
          <TextInput
            label={t.reference}
            description={t.referenceHints[type]}
            maxLength={128}
            value={reference}
            onChange={(event) => onChange({ reference: event.currentTarget.value })}
            error={faults.reference}
          />
        )}
        <TextInput
          label={t.description}
          description={t.descriptionHint}
          required
          maxLength={255}
          value={description}
          onChange={(event) => onChange({ description: event.currentTarget.value })}
          error={faults.description}
        />
        {previewing.error && Object.keys(faults).length === 0 && <ErrorNotice error={previewing.error} />}
        <Group justify="flex-end">
          <Button type="submit" loading={previewing.isPending} disabled={!isReady}>
            {t.next}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

/** How much can be drawn or written off. */
function useHint(type: EntryType, client: string | null): string | undefined {
  const t = useText(words)
  const format = useFormat()
  const isOfFees = type === 'fee_draw' || type === 'psp_fee'
  const books = useQuery({
    queryKey: ['ledger', isOfFees ? null : client],
    queryFn: async () => await ask<LedgerView>('GET', withQuery('/ledger', { clientId: isOfFees ? null : client })),
    enabled: isOfFees || (type === 'write_off' && client !== null),
  })
  if (!books.data) return undefined
  const { fees, debt } = books.data.accounts
  if (isOfFees) return t.feesNow(format.money(fees))
  return type === 'write_off' && client !== null ? t.owedNow(format.money(0 - debt)) : undefined
}

function Review({
  wanted: { type, client, acquirer, amount, description },
  preview: { transfers, needsApproval },
  booking,
  onBack,
}: {
  wanted: Wanted
  preview: EntryPreview
  booking: { mutate: () => void; isPending: boolean; error: Error | null }
  onBack: () => void
}) {
  const t = useText(words)
  const ledger = useText(ledgerWords)
  const format = useFormat()
  const clients = useClients()
  const money = format.money(amount ?? 0)
  const clientName = clients.data?.find(({ clientId }) => clientId === client)?.name
  const nameOf = (account: EntryPreview['transfers'][number]['debit']) =>
    account === 'acquirer' ? t.at(t.accounts.acquirer, acquirer ?? '') : ledger.accountNames[account][0]
  const ownerOf = ({ isOperators, merchants }: EntryPreview['transfers'][number]) => {
    if (isOperators) return t.operators
    return merchants === 1 && clientName !== undefined && fieldsOf[type].client !== 'none'
      ? clientName
      : t.merchants(merchants)
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        booking.mutate()
      }}
    >
      <Stack>
        <div>
          <Text size="sm" fw={650}>
            {t.types[type][0]}: {money}
          </Text>
          <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {description}
          </Text>
        </div>
        <div>
          <Text size="sm">{t.books}</Text>
          {transfers.map((transfer) => (
            <Group
              key={`${transfer.kind} ${transfer.debit} ${transfer.credit} ${transfer.isOperators}`}
              className="row"
              py={6}
              justify="space-between"
              align="flex-start"
              wrap="nowrap"
            >
              <div style={{ minWidth: 0 }}>
                <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
                  {nameOf(transfer.debit)} → {nameOf(transfer.credit)}
                </Text>
                <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                  {ledger.kinds[transfer.kind]} · {ownerOf(transfer)}
                </Text>
              </div>
              <Text size="sm" fw={600} style={{ whiteSpace: 'nowrap' }}>
                {format.money(transfer.amount)}
              </Text>
            </Group>
          ))}
        </div>
        <Alert color={needsApproval ? 'orange' : 'blue'}>
          <Text size="sm">{needsApproval ? t.waits : t.sendsNothing}</Text>
        </Alert>
        {booking.error && <ErrorNotice error={booking.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onBack} disabled={booking.isPending}>
            {t.back}
          </Button>
          <Button type="submit" loading={booking.isPending}>
            {needsApproval ? t.propose(money) : t.book(money)}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
