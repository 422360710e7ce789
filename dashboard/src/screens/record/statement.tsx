import { Group, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { FactList } from '../../components/fact-list.tsx'
import { Section } from '../../components/page.tsx'
import { useFormat } from '../../format.ts'
import { texts, useText } from '../../text.ts'
import type { ExplainedRecord, StatementLine } from '../../types.ts'

const words = texts({
  en: {
    title: 'Amounts',
    charged: 'Charged',
    requested: 'Requested',
    nothing: 'Nothing is posted yet.',
    net: 'Net for you',
    netOfMerchant: 'Net for the merchant',
    out: 'Taken from the balance',
    lines: {
      paid: 'Paid',
      sent: 'Sent to the receiver',
      sending: 'Reserved until it is sent',
      fee: 'Fee',
      refunded: 'Refunded',
      refunding: 'Refund in progress',
      refundFee: 'Fee of the refunds',
      feeReturned: 'Fee returned',
      blocked: 'Blocked by a dispute',
      returned: 'Returned after a dispute',
      attributionReversed: 'Attribution reversed',
      other: 'Other entries',
    } satisfies Record<StatementLine, string>,
    sentBack: 'Returned by the receiver',
  },
  pt: {
    title: 'Valores',
    charged: 'Cobrado',
    requested: 'Solicitado',
    nothing: 'Nada foi lançado ainda.',
    net: 'Líquido para você',
    netOfMerchant: 'Líquido do lojista',
    out: 'Debitado do saldo',
    lines: {
      paid: 'Pago',
      sent: 'Enviado ao recebedor',
      sending: 'Reservado até o envio',
      fee: 'Tarifa',
      refunded: 'Devolvido',
      refunding: 'Devolução em andamento',
      refundFee: 'Tarifa das devoluções',
      feeReturned: 'Tarifa estornada',
      blocked: 'Bloqueado por contestação',
      returned: 'Devolvido após contestação',
      attributionReversed: 'Conciliação desfeita',
      other: 'Outros lançamentos',
    },
    sentBack: 'Devolvido pelo recebedor',
  },
})

/** What the record added to the merchant's balance or took from it, from the ledger. */
export function AmountStatement({
  record: { type, amount, statement },
  isMerchantUser,
}: {
  record: Pick<ExplainedRecord, 'type' | 'amount' | 'statement'>
  /** Whether the reader belongs to the merchant. */
  isMerchantUser: boolean
}) {
  const t = useText(words)
  const format = useFormat()
  const isWithdrawal = type === 'withdrawal'
  const nameOf = (line: StatementLine) => (isWithdrawal && line === 'returned' ? t.sentBack : t.lines[line])
  const facts = (statement?.lines ?? []).map(({ line, amount: change }): [string, ReactNode] => [
    nameOf(line),
    <Cents key={line} of={isWithdrawal ? -change : change} />,
  ])
  // What was paid may differ from what was charged.
  const paid = statement?.lines.find(({ line }) => line === 'paid' || line === 'sent')?.amount
  const isSame = paid !== undefined && Math.abs(paid) === amount
  return (
    <Section title={t.title}>
      <FactList facts={isSame ? facts : [[isWithdrawal ? t.requested : t.charged, format.money(amount)], ...facts]} />
      {statement === null ? (
        <Text size="sm" c="dimmed" mt="xs">
          {t.nothing}
        </Text>
      ) : (
        <Group justify="space-between" pt={8} style={{ borderTop: '1px solid light-dark(#9fb0ab, #55655f)' }}>
          <Text fw={600}>{isWithdrawal ? t.out : isMerchantUser ? t.net : t.netOfMerchant}</Text>
          <Text fw={700} size="lg" ml="auto" style={{ whiteSpace: 'nowrap' }}>
            {format.money(isWithdrawal ? -statement.net : statement.net)}
          </Text>
        </Group>
      )}
    </Section>
  )
}

function Cents({ of }: { of: number }) {
  return <span style={{ whiteSpace: 'nowrap', fontVariantNumeric: 'tabular-nums' }}>{useFormat().money(of)}</span>
}
