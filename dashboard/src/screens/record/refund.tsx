import type { Refund, Transaction } from '@guiche/sdk'
import { Button, Group, SegmentedControl, Skeleton, Stack, Text, Tooltip } from '@mantine/core'
import { useDebouncedValue, useMediaQuery } from '@mantine/hooks'
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiError, fieldMessagesOf, guiche, request, withQuery } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { useSentence } from '../../components/error-notice.tsx'
import { useMutationForm } from '../../components/form.tsx'
import { MoneyInput } from '../../components/money-input.tsx'
import { Section } from '../../components/page.tsx'
import { ReasonText } from '../../components/reason.tsx'
import { Amount } from '../../components/record-table.tsx'
import { RefundReason } from '../../components/refund-reason.tsx'
import { Status } from '../../components/status.tsx'
import { useFormat } from '../../format.ts'
import { useKeyUntilSuccess } from '../../idempotency.ts'
import { useMay } from '../../session.tsx'
import { texts, useText } from '../../text.ts'
import type { ExplainedRecord, RefundPreview } from '../../types.ts'
import { ReceiptButton } from './receipt.tsx'

const words = texts({
  en: {
    refund: 'Refund',
    title: 'Refund this payment?',
    whole: 'Full amount',
    rest: 'Remaining amount',
    part: 'Partial amount',
    amount: 'Amount',
    goesBack: (amount: string, to: string) => `${amount} will be returned to ${to}, to the account that paid.`,
    payer: 'the payer',
    leaves: (amount: string, fee: string) => `${amount} is debited from the balance: the amount and a fee of ${fee}.`,
    noFee: (amount: string) => `${amount} is debited from the balance. There is no fee.`,
    feeReturned: (fee: string) => `${fee} of the payment fee is returned to the balance.`,
    stays: (amount: string) => `${amount} of the payment remains.`,
    final: 'This cannot be undone.',
    confirm: (amount: string) => `Refund ${amount}`,
    refunds: 'Refunds',
  },
  pt: {
    refund: 'Devolver',
    title: 'Devolver este pagamento?',
    whole: 'Valor total',
    rest: 'Valor restante',
    part: 'Valor parcial',
    amount: 'Valor',
    goesBack: (amount: string, to: string) => `${amount} serão devolvidos a ${to}, na conta que pagou.`,
    payer: 'quem pagou',
    leaves: (amount: string, fee: string) => `${amount} serão debitados do saldo: o valor e uma tarifa de ${fee}.`,
    noFee: (amount: string) => `${amount} serão debitados do saldo. Não há tarifa.`,
    feeReturned: (fee: string) => `${fee} da tarifa do pagamento voltam para o saldo.`,
    stays: (amount: string) => `Restam ${amount} do pagamento.`,
    final: 'Não é possível desfazer.',
    confirm: (amount: string) => `Devolver ${amount}`,
    refunds: 'Devoluções',
  },
})

/** Shown only if the payment can be refunded and the user has the permission. */
export function RefundButton({ transaction }: { transaction: Transaction }) {
  const t = useText(words)
  const sentence = useSentence()
  const may = useMay()
  const [isOpen, setOpen] = useState(false)
  const [idempotencyKey, renewKey] = useKeyUntilSuccess()
  const { id, status, updatedAt, amountPaid = 0, amountRefunded = 0, amountReturned = 0 } = transaction
  // After a lost dispute of part of the payment, the rest can still be refunded.
  const hasRest = amountPaid > amountRefunded + amountReturned
  const isRefundable = hasRest && (status === 'PAID' || status === 'INFRACTION')
  const whole = useQuery({
    queryKey: ['refundable', id, updatedAt],
    queryFn: async () => await request<RefundPreview>('GET', `/transaction/${id}/refund`),
    enabled: may('refund.write') && isRefundable,
  })
  if (whole.error instanceof ApiError && whole.error.code === 'payouts_stopped') {
    return (
      <Tooltip label={sentence(whole.error)} multiline maw={300}>
        <Button data-disabled variant="default">
          {t.refund}
        </Button>
      </Tooltip>
    )
  }
  if (!whole.data || !isRefundable) return null
  return (
    <>
      <Button variant="default" onClick={() => setOpen(true)}>
        {t.refund}
      </Button>
      {isOpen && (
        <Dialog
          transaction={transaction}
          whole={whole.data}
          idempotencyKey={idempotencyKey}
          onRefunded={renewKey}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  )
}

function Dialog({
  transaction: { id, payer, amountPaid },
  whole,
  idempotencyKey,
  onRefunded,
  onClose,
}: {
  transaction: Transaction
  whole: RefundPreview
  idempotencyKey: string
  onRefunded: () => void
  onClose: () => void
}) {
  const t = useText(words)
  const sentence = useSentence()
  const format = useFormat()
  const queries = useQueryClient()
  const [isPart, setPart] = useState(false)
  // An amount of millions needs the full width of a phone.
  const isNarrow = useMediaQuery('(max-width: 47.99em)', undefined, { getInitialValueInEffect: false })
  const refunding = useMutationForm({
    initialValues: { amount: null as number | null, reason: '' },
    send: async ({ amount: part, reason }) =>
      await guiche.transactions.refund(id, {
        amount: isPart && part !== null ? part : whole.amountLeft,
        idempotencyKey,
        ...(reason.trim() !== '' && { reason: reason.trim() }),
      }),
    onSuccess: async () => {
      onRefunded()
      onClose()
      await queries.invalidateQueries()
    },
  })
  const amount = isPart ? refunding.values.amount : whole.amountLeft
  const [debouncedAmount] = useDebouncedValue(amount, 250)
  const preview = useQuery({
    queryKey: ['refundable', id, debouncedAmount, 'part'],
    queryFn: async () =>
      await request<RefundPreview>('GET', withQuery(`/transaction/${id}/refund`, { amount: debouncedAmount })),
    enabled: isPart && debouncedAmount !== null && debouncedAmount > 0,
    placeholderData: keepPreviousData,
  })
  const shown = isPart ? (preview.isError ? undefined : preview.data) : whole
  const isShown = shown !== undefined && amount !== null && shown.amount === amount
  const amountInput = refunding.input('amount')
  return (
    <Confirm
      title={t.title}
      isOpen
      onClose={onClose}
      confirm={isShown ? t.confirm(format.money(amount)) : t.refund}
      isDangerous
      action={refunding}
      isReady={isShown}
    >
      <SegmentedControl
        fullWidth
        orientation={isNarrow ? 'vertical' : 'horizontal'}
        aria-label={t.amount}
        value={isPart ? 'part' : 'all'}
        onChange={(value) => setPart(value === 'part')}
        data={[
          {
            value: 'all',
            label: `${whole.amountLeft === amountPaid ? t.whole : t.rest}: ${format.money(whole.amountLeft)}`,
          },
          { value: 'part', label: t.part },
        ]}
      />
      {isPart && (
        <MoneyInput
          {...amountInput}
          label={t.amount}
          placeholder={format.money(0)}
          required
          autoFocus
          error={
            preview.isError ? (fieldMessagesOf(preview.error).amount ?? sentence(preview.error)) : amountInput.error
          }
        />
      )}
      <RefundReason {...refunding.input('reason')} />
      {isShown ? (
        <Stack gap={4} role="status">
          <Text size="sm" fw={600}>
            {t.goesBack(format.money(amount), payer?.name ?? t.payer)}
          </Text>
          <Text size="sm">
            {shown.fee > 0
              ? t.leaves(format.money(amount + shown.fee), format.money(shown.fee))
              : t.noFee(format.money(amount))}
            {shown.feeReturned > 0 ? ` ${t.feeReturned(format.money(shown.feeReturned))}` : ''}
            {amount < whole.amountLeft ? ` ${t.stays(format.money(whole.amountLeft - amount))}` : ''}
          </Text>
          <Text size="sm">{t.final}</Text>
        </Stack>
      ) : (
        isPart && amount !== null && !preview.isError && <Skeleton height={60} />
      )}
    </Confirm>
  )
}

/** The refunds of a payment. Nothing is shown if there are none. */
export function Refunds({ refunds, timeline }: { refunds: Refund[]; timeline: ExplainedRecord['timeline'] }) {
  const t = useText(words)
  const format = useFormat()
  if (refunds.length === 0) return null
  // A reversed attribution sent nothing to the payer.
  const isSent = (id: string) =>
    timeline.some((one) => one.kind === 'refund' && one.data.id === id && one.data.step === 'sent')
  return (
    <Section title={t.refunds}>
      <Stack gap={0}>
        {refunds.map(({ id, amount, status, reason, createdAt, endToEndRefund }) => (
          <Group key={id} className="row" py="xs" justify="space-between" align="flex-start" wrap="nowrap">
            <div style={{ minWidth: 0 }}>
              <Amount of={amount} />
              <Text size="xs" c="dimmed">
                {format.dateTime(createdAt)}
                {reason ? ` · ${reason}` : ''}
              </Text>
              {endToEndRefund && (
                <Text size="xs" c="dimmed" className="identifier">
                  {endToEndRefund}
                </Text>
              )}
              {isSent(id) && <ReceiptButton of={{ type: 'refund', id }} size="compact-xs" mt={4} />}
              {status === 'FAILED' && <FailedRefundReason id={id} timeline={timeline} />}
            </div>
            <Status of={status} />
          </Group>
        ))}
      </Stack>
    </Section>
  )
}

function FailedRefundReason({ id, timeline }: { id: string; timeline: ExplainedRecord['timeline'] }) {
  const entry = timeline.find((one) => one.kind === 'refund' && one.data.id === id)
  if (entry?.kind !== 'refund' || entry.data.reason === null) return null
  return (
    <Text size="xs">
      <ReasonText of={entry.data.reason} />
    </Text>
  )
}
