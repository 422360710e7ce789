import { Alert, Button, Group, Select, SimpleGrid, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { request, withQuery } from '../../api.ts'
import { type Action, ActionForm, useMutationForm } from '../../components/form.tsx'
import { useMerchants } from '../../components/merchant-switch.tsx'
import { MoneyInput } from '../../components/money-input.tsx'
import { Amount } from '../../components/record-table.tsx'
import { useFormat } from '../../format.ts'
import { useText } from '../../text.ts'
import type { EntriesView, EntryPreview, LedgerView, WrittenType } from '../../types.ts'
import { words } from './entries-text.ts'
import { words as ledgerWords } from './text.ts'

const manualAccounts = ['available', 'fees', 'debt', 'acquirer'] as const
type ManualAccount = (typeof manualAccounts)[number]

const initialValues = {
  type: 'pay_in' as WrittenType,
  clientId: null as string | null,
  acquirer: null as string | null,
  amount: null as number | null,
  debit: null as ManualAccount | null,
  credit: null as ManualAccount | null,
  reference: '',
  description: '',
}
type Values = typeof initialValues

/** Whether each entry type has a merchant and a reference. */
const fieldsOf: Record<WrittenType, { client: 'required' | 'optional' | 'none'; reference: boolean }> = {
  pay_in: { client: 'optional', reference: true },
  fee_draw: { client: 'none', reference: true },
  psp_fee: { client: 'none', reference: true },
  write_off: { client: 'required', reference: false },
  manual_entry: { client: 'optional', reference: false },
}
const types = Object.keys(fieldsOf) as WrittenType[]

/** The posted entries, and the PSP accounts that an entry can name. */
export function useEntries(clientId: string | null) {
  return useQuery({
    queryKey: ['entries', clientId],
    queryFn: async () => await request<EntriesView>('GET', withQuery('/entry', { clientId })),
  })
}

/** Posts or proposes an entry in two steps: a form, then a preview of the transfers. */
export function EntryForm({
  clientId: fixedClientId,
  idempotencyKey,
  onPosted,
}: {
  clientId: string | null
  idempotencyKey: string
  onPosted: () => void
}) {
  const t = useText(words)
  const queries = useQueryClient()
  const clients = useMerchants()
  const acquirers = useEntries(fixedClientId).data?.acquirers ?? []
  // If there is only one PSP, it is chosen automatically.
  const onlyAcquirer = acquirers.length === 1 ? (acquirers[0] ?? null) : null
  const toBody = ({ type, clientId, acquirer, amount, debit, credit, reference, description }: Values) => ({
    type,
    ...(fieldsOf[type].client !== 'none' && clientId !== null && { clientId }),
    acquirer: acquirer ?? onlyAcquirer,
    amount,
    ...(fieldsOf[type].reference && reference.trim() !== '' && { reference: reference.trim() }),
    description: description.trim(),
    ...(type === 'manual_entry' && { debit, credit }),
    idempotencyKey,
  })
  const previewing = useMutationForm({
    initialValues: { ...initialValues, clientId: fixedClientId },
    send: async (values) => await request<EntryPreview>('POST', '/entry/preview', toBody(values)),
  })
  const { type, clientId, amount, debit, credit } = previewing.values
  const { acquirer, description } = toBody(previewing.values)
  const fields = fieldsOf[type]
  const posting = useMutation({
    mutationFn: async () => await request('POST', '/entry', toBody(previewing.values)),
    onSuccess: onPosted,
    // Also after an error: the entry may have been posted, and only the answer was lost.
    onSettled: async () => await queries.invalidateQueries(),
  })
  const hint = useHint(type, clientId)
  if (previewing.data) {
    return (
      <Review
        values={{ ...previewing.values, acquirer }}
        preview={previewing.data}
        posting={posting}
        onBack={() => {
          previewing.reset()
          posting.reset()
        }}
      />
    )
  }
  const isReady =
    amount !== null &&
    amount > 0 &&
    acquirer !== null &&
    description.length >= 3 &&
    (fields.client !== 'required' || clientId !== null) &&
    (type !== 'manual_entry' || (debit !== null && credit !== null))
  const accounts = manualAccounts.map((value) => ({ value, label: t.accounts[value] }))
  return (
    <ActionForm
      action={previewing}
      isReady={isReady}
      buttons={
        <Group justify="flex-end">
          <Button type="submit" loading={previewing.isPending} disabled={!isReady}>
            {t.next}
          </Button>
        </Group>
      }
    >
      <Select
        {...previewing.input('type')}
        label={t.type}
        description={t.types[type][1]}
        allowDeselect={false}
        data={types
          .filter((one) => fixedClientId === null || fieldsOf[one].client !== 'none')
          .map((value) => ({ value, label: t.types[value][0] }))}
      />
      {fields.client !== 'none' && (
        <Select
          {...previewing.input('clientId')}
          label={t.client}
          required={fields.client === 'required'}
          {...(fields.client === 'optional' && { placeholder: t.operators, clearable: fixedClientId === null })}
          searchable
          disabled={fixedClientId !== null}
          nothingFoundMessage={t.noClient}
          limit={50}
          data={(clients.data ?? []).map((one) => ({ value: one.clientId, label: one.name }))}
        />
      )}
      {acquirers.length > 1 && (
        <Select {...previewing.input('acquirer')} label={t.acquirer} required data={acquirers} />
      )}
      {type === 'manual_entry' && (
        <SimpleGrid cols={2} spacing="sm">
          <Select {...previewing.input('debit')} label={t.debit} required data={accounts} />
          <Select {...previewing.input('credit')} label={t.credit} required data={accounts} />
        </SimpleGrid>
      )}
      <MoneyInput {...previewing.input('amount')} label={t.amount} description={hint} required />
      {fields.reference && (
        <TextInput
          {...previewing.input('reference')}
          label={t.reference}
          description={t.referenceHints[type]}
          maxLength={128}
        />
      )}
      <TextInput
        {...previewing.input('description')}
        label={t.description}
        description={t.descriptionHint}
        required
        maxLength={255}
      />
    </ActionForm>
  )
}

/** The earned fees, or the debt of the merchant, from which the entry takes its amount. */
function useHint(type: WrittenType, clientId: string | null): string | undefined {
  const t = useText(words)
  const format = useFormat()
  const isOfFees = type === 'fee_draw' || type === 'psp_fee'
  const ledger = useQuery({
    queryKey: ['ledger', isOfFees ? null : clientId],
    queryFn: async () =>
      await request<LedgerView>('GET', withQuery('/ledger', { clientId: isOfFees ? null : clientId })),
    enabled: isOfFees || (type === 'write_off' && clientId !== null),
  })
  if (!ledger.data) return undefined
  const { fees, debt } = ledger.data.accounts
  if (isOfFees) return t.feesNow(format.money(fees))
  return type === 'write_off' && clientId !== null ? t.owedNow(format.money(0 - debt)) : undefined
}

function Review({
  values: { type, clientId, acquirer, amount, description },
  preview: { transfers, needsApproval },
  posting,
  onBack,
}: {
  values: Values
  preview: EntryPreview
  posting: Action
  onBack: () => void
}) {
  const t = useText(words)
  const ledger = useText(ledgerWords)
  const format = useFormat()
  const clients = useMerchants()
  const money = format.money(amount ?? 0)
  const clientName = clients.data?.find((one) => one.clientId === clientId)?.name
  const nameOf = (account: EntryPreview['transfers'][number]['debit']) =>
    account === 'acquirer' ? t.at(t.accounts.acquirer, acquirer ?? '') : ledger.accountNames[account][0]
  const ownerOf = ({ isOperators, merchants }: EntryPreview['transfers'][number]) => {
    if (isOperators) return t.operators
    return merchants === 1 && clientName !== undefined && fieldsOf[type].client !== 'none'
      ? clientName
      : t.merchants(merchants)
  }
  return (
    <ActionForm
      action={posting}
      buttons={
        <Group justify="flex-end">
          <Button variant="default" onClick={onBack} disabled={posting.isPending}>
            {t.back}
          </Button>
          <Button type="submit" loading={posting.isPending}>
            {needsApproval ? t.propose(money) : t.post(money)}
          </Button>
        </Group>
      }
    >
      <div>
        <Text size="sm" fw={650}>
          {t.types[type][0]}: {money}
        </Text>
        <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {description}
        </Text>
      </div>
      <div>
        <Text size="sm">{t.transfers}</Text>
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
            <Amount of={transfer.amount} />
          </Group>
        ))}
      </div>
      <Alert color={needsApproval ? 'orange' : 'blue'}>
        <Text size="sm">{needsApproval ? t.waits : t.sendsNothing}</Text>
      </Alert>
    </ActionForm>
  )
}
