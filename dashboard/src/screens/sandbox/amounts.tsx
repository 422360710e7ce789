import { Table, Text } from '@mantine/core'
import { Section } from '../../components/page.tsx'
import { useFormat } from '../../format.ts'
import { useText } from '../../text.ts'
import { words } from './text.ts'

const behaviours = [
  ...['without_txid', 'slow', 'late', 'twice', 'other_amount', 'other_payer'],
  ...['returned', 'contested', 'callback_never', 'callback_twice', 'callback_late', 'callback_forged'],
]

type Of = 'ofPayment' | 'ofTransaction' | 'ofRefund' | 'ofWithdrawal'

/** The amounts of docs/sandbox.md, in cents. */
const rows: { cents: number; untilCents?: number; of: Of; outcome?: string; behaviour?: string }[] = [
  { cents: 4220422, of: 'ofTransaction', outcome: 'refused' },
  { cents: 5040504, of: 'ofTransaction', outcome: 'silent' },
  ...behaviours.map((behaviour, index) => ({ cents: 700001 + index, of: 'ofPayment' as const, behaviour })),
  { cents: 800001, of: 'ofRefund', outcome: 'refundRefused' },
  { cents: 800002, of: 'ofRefund', outcome: 'refundSlow' },
  { cents: 800003, of: 'ofRefund', outcome: 'refundSilent' },
  { cents: 800004, of: 'ofRefund', outcome: 'refundRefusedAtOnce' },
  { cents: 900001, untilCents: 900024, of: 'ofWithdrawal', outcome: 'payoutFailed' },
  { cents: 900090, of: 'ofWithdrawal', outcome: 'payoutRefused' },
  { cents: 900091, of: 'ofWithdrawal', outcome: 'payoutSlow' },
  { cents: 900092, of: 'ofWithdrawal', outcome: 'payoutSilent' },
]

/** The outcomes that the amount alone decides. */
export function Amounts() {
  const t = useText(words)
  const format = useFormat()
  return (
    <Section title={t.amounts}>
      <Text size="sm" c="dimmed" mb="sm">
        {t.amountsLead}
      </Text>
      <details>
        <Text
          component="summary"
          size="sm"
          c="var(--mantine-color-anchor)"
          w="fit-content"
          style={{ cursor: 'pointer' }}
        >
          {t.amountsShow}
        </Text>
        <Table.ScrollContainer minWidth={0} type="native" tabIndex={0} role="region" aria-label={t.amounts}>
          <Table>
            <Table.Thead>
              <Table.Tr>
                {[t.amount, t.what].map((name) => (
                  <Table.Th key={name}>
                    <Text size="xs" fw={600} c="dimmed" component="span">
                      {name}
                    </Text>
                  </Table.Th>
                ))}
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {rows.map(({ cents, untilCents, of, outcome, behaviour }) => (
                <Table.Tr key={cents}>
                  <Table.Td w="40%">
                    <Text size="sm" fw={600} component="span">
                      {format.money(cents)}
                      {untilCents && ` ${t.until} ${format.money(untilCents)}`}
                    </Text>{' '}
                    <Text size="xs" c="dimmed">
                      {t[of]}
                    </Text>
                  </Table.Td>
                  <Table.Td>{behaviour ? t.behaviours[behaviour] : t.outcomes[outcome ?? '']}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      </details>
    </Section>
  )
}
