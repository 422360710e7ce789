import { Badge, Button, Group, ScrollArea, Skeleton, Text } from '@mantine/core'
import { useQueries, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { request } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { useMutationForm } from '../../components/form.tsx'
import { Amount } from '../../components/record-table.tsx'
import { RefundReason } from '../../components/refund-reason.tsx'
import { ResultDialog, SelectedList, SelectedSums, type Selection, SelectionBar } from '../../components/selection.tsx'
import { writeError } from '../../error-texts.ts'
import { useFormat } from '../../format.ts'
import { newUuid } from '../../idempotency.ts'
import { useUser } from '../../session.tsx'
import { texts, useLanguage, useText } from '../../text.ts'
import type { ListedTransaction, RefundPreview, RefundResult } from '../../types.ts'

const words = texts({
  en: {
    refund: (count: string, total: string) => `Refund ${count} (${total})`,
    title: (count: number, text: string, total: string) =>
      `Refund ${count === 1 ? '1 payment' : `${text} payments`}, ${total} in total?`,
    lead: 'Each amount goes back to the account that paid. The amounts, and the fee of each refund if there is one, are debited from the balance. This cannot be undone.',
    requested: (done: string, of: string) => `${done} of ${of} are being refunded.`,
    done: 'Being refunded',
    refused: 'Not refunded',
  },
  pt: {
    refund: (count: string, total: string) => `Devolver ${count} (${total})`,
    title: (count: number, text: string, total: string) =>
      `Devolver ${count === 1 ? '1 pagamento' : `${text} pagamentos`}, total de ${total}?`,
    lead: 'Cada valor volta para a conta que pagou. Os valores, e a tarifa de cada devolução, se houver, são debitados do saldo. Não é possível desfazer.',
    requested: (done: string, of: string) => `${done} de ${of} em devolução.`,
    done: 'Em devolução',
    refused: 'Não devolvido',
  },
})

type Done = { transactions: ListedTransaction[]; results: RefundResult[] }

/** What is left of a payment; 0 if it cannot be refunded now. */
export function leftToRefund({ status, amountPaid, refunded }: ListedTransaction): number {
  // After a lost dispute of part of the payment, the rest can still be refunded.
  return status === 'PAID' || status === 'INFRACTION' ? Math.max(0, (amountPaid ?? 0) - refunded) : 0
}

/** The button that refunds the selected transactions together, and the outcome of each. */
export function RefundMany({ selection }: { selection: Selection<ListedTransaction> }) {
  const t = useText(words)
  const format = useFormat()
  // What the person has seen and confirms: the list may change behind the dialog.
  const [refunding, setRefunding] = useState<ListedTransaction[] | null>(null)
  const [done, setDone] = useState<Done | null>(null)
  const { selected, choose } = selection
  return (
    <>
      <SelectionBar of={selection}>
        <Button onClick={() => setRefunding(selected)}>
          {t.refund(format.number(selected.length), format.money(sumOf(selected)))}
        </Button>
      </SelectionBar>
      {refunding && (
        <Dialog
          transactions={refunding}
          onClose={() => setRefunding(null)}
          onDone={(results) => {
            setDone({ transactions: refunding, results })
            setRefunding(null)
            choose([])
          }}
        />
      )}
      {done && <Results done={done} onClose={() => setDone(null)} />}
    </>
  )
}

const sumOf = (transactions: ListedTransaction[]) => transactions.reduce((total, one) => total + leftToRefund(one), 0)

function Dialog({
  transactions,
  onClose,
  onDone,
}: {
  transactions: ListedTransaction[]
  onClose: () => void
  onDone: (results: RefundResult[]) => void
}) {
  const t = useText(words)
  const format = useFormat()
  const queries = useQueryClient()
  // Created when the dialog opens, so that a second click, or a retry after a lost response, refunds nothing twice.
  const [batchId] = useState(newUuid)
  const [count, total] = [format.number(transactions.length), format.money(sumOf(transactions))]
  const refunding = useMutationForm({
    initialValues: { reason: '' },
    send: async ({ reason }) =>
      await request<{ data: RefundResult[] }>('POST', '/transaction/refund', {
        batchId,
        refunds: transactions.map((one) => ({ id: one.id, amount: leftToRefund(one) })),
        ...(reason.trim() !== '' && { reason: reason.trim() }),
      }),
    onSuccess: async ({ data }) => {
      onDone(data)
      await queries.invalidateQueries()
    },
  })
  return (
    <Confirm
      title={t.title(transactions.length, count, total)}
      confirm={t.refund(count, total)}
      isDangerous
      isOpen
      onClose={onClose}
      action={refunding}
    >
      <Text size="sm">{t.lead}</Text>
      <ScrollArea.Autosize mah={320} type="auto" viewportProps={{ tabIndex: 0 }}>
        <SelectedList rows={transactions.map((one) => ({ key: one.id, content: <Summary of={one} /> }))} />
      </ScrollArea.Autosize>
      <Fees of={transactions} />
      {/* After an error some refunds may exist: with another reason, a repeat would be refused for them. */}
      <RefundReason {...refunding.input('reason')} disabled={refunding.error !== null} />
    </Confirm>
  )
}

/** What the refunds take from the balances, as the service would post each of them now. */
function Fees({ of }: { of: ListedTransaction[] }) {
  const previews = useQueries({
    queries: of.map(({ id }) => ({
      queryKey: ['refundable', id],
      queryFn: async () => await request<RefundPreview>('GET', `/transaction/${id}/refund`),
      staleTime: 0,
    })),
    combine: (answers) => ({
      all: answers.flatMap(({ data }) => data ?? []),
      isPending: answers.some((one) => one.isPending),
    }),
  })
  if (previews.isPending) return <Skeleton height={28} />
  // One cannot be refunded any more: the service reports it when the refunds are requested.
  if (previews.all.length < of.length) return null
  const sum = (field: 'amount' | 'fee' | 'feeReturned') => previews.all.reduce((total, one) => total + one[field], 0)
  return <SelectedSums amount={sum('amount')} fee={sum('fee')} feeReturned={sum('feeReturned')} />
}

function Summary({ of }: { of: ListedTransaction }) {
  const format = useFormat()
  const { merchant } = useUser()
  const { customerName, payerName, externalCode, clientName, createdAt } = of
  const details = [externalCode, format.dateTime(createdAt), merchant ? null : clientName]
  return (
    <Group justify="space-between" wrap="nowrap" align="flex-start" gap="sm">
      <Text size="sm" style={{ minWidth: 0, overflowWrap: 'anywhere' }}>
        <b>{customerName ?? payerName ?? '–'}</b>
        <Text span size="xs" c="dimmed" display="block">
          {details.filter((one) => one !== null).join(' · ')}
        </Text>
      </Text>
      <Amount of={leftToRefund(of)} />
    </Group>
  )
}

function Results({ done: { transactions, results }, onClose }: { done: Done; onClose: () => void }) {
  const t = useText(words)
  const format = useFormat()
  const { language } = useLanguage()
  const count = results.filter(({ error }) => error === null).length
  const rows = transactions.map((one, index) => ({ one, error: results[index]?.error ?? null }))
  return (
    <ResultDialog sentence={t.requested(format.number(count), format.number(results.length))} onClose={onClose}>
      <SelectedList
        // What needs attention comes first.
        rows={rows
          .toSorted((a, b) => Number(b.error !== null) - Number(a.error !== null))
          .map(({ one, error }) => ({
            key: one.id,
            content: (
              <>
                <Summary of={one} />
                <Badge variant="light" color={error ? 'orange' : 'teal'} tt="none" radius="sm">
                  {error ? t.refused : t.done}
                </Badge>
                {error && (
                  <Text size="xs" c="dimmed">
                    {writeError({ ...error, sentence: error.code }, language).sentence}
                  </Text>
                )}
              </>
            ),
          }))}
      />
    </ResultDialog>
  )
}
