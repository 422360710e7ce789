import { Anchor, Button, Checkbox, Group, NumberInput, SimpleGrid, Skeleton, Stack, Table, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { request, withQuery } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { Empty } from '../../components/empty.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { useMutationForm } from '../../components/form.tsx'
import { compareNames, useMerchants } from '../../components/merchant-switch.tsx'
import { MoneyInput } from '../../components/money-input.tsx'
import { Section } from '../../components/page.tsx'
import { type Format, useFormat } from '../../format.ts'
import { useMay } from '../../session.tsx'
import { useLanguage, useText } from '../../text.ts'
import type { FeeView } from '../../types.ts'
import { words } from './text.ts'

type Rule = Pick<FeeView, 'fixed' | 'basisPoints' | 'minimum' | 'maximum' | 'returnsPaymentFee'>
type Operation = FeeView['operation']

const operations: Operation[] = ['transaction', 'refund', 'withdrawal']
const nothing: Rule = { fixed: 0, basisPoints: 0, minimum: 0, maximum: null, returnsPaymentFee: false }

function useFees(clientId: string | null, isAll = false) {
  return useQuery({
    queryKey: ['fees', clientId, isAll],
    queryFn: async () =>
      (await request<{ data: FeeView[] }>('GET', withQuery('/fee', { clientId, ...(isAll && { isAll }) }))).data,
  })
}

/** The current fee rules of all merchants. */
export function AllFeeRules() {
  const t = useText(words)
  const fees = useFees(null)
  const clients = useMerchants()
  const nameOf = (clientId: string) => clients.data?.find((one) => one.clientId === clientId)?.name ?? clientId
  const byClient = new Map<string, FeeView[]>()
  for (const rule of fees.data ?? []) byClient.set(rule.clientId, [...(byClient.get(rule.clientId) ?? []), rule])
  const merchants = [...byClient].toSorted(([a], [b]) => compareNames(nameOf(a), nameOf(b)))
  return (
    <Section title={t.fees}>
      <Text size="sm" c="dimmed" mb="sm">
        {t.feesLead}
      </Text>
      {fees.isError && <ErrorNotice error={fees.error} onRetry={() => void fees.refetch()} />}
      {fees.isPending && <Skeleton height={80} />}
      {fees.data?.length === 0 && (
        <Empty icon="ledger" title={t.noRules}>
          {t.noRulesHint}
        </Empty>
      )}
      {byClient.size > 0 && (
        <Table verticalSpacing={8} horizontalSpacing={0} aria-label={t.fees}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th w="40%">{t.merchant}</Table.Th>
              <Table.Th>{t.feePerOperation}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {merchants.map(([clientId, rules]) => (
              <Table.Tr key={clientId} style={{ verticalAlign: 'top' }}>
                <Table.Td pr="sm" style={{ overflowWrap: 'anywhere' }}>
                  <Anchor
                    component={Link}
                    href={`/ledger?${new URLSearchParams({ client: clientId })}`}
                    size="sm"
                    fw={600}
                  >
                    {nameOf(clientId)}
                  </Anchor>
                </Table.Td>
                <Table.Td>
                  <Stack gap={2}>
                    {rules.map((rule) => (
                      <Text key={rule.operation} size="sm">
                        {t.operations[rule.operation]}: <RuleText rule={rule} />
                      </Text>
                    ))}
                  </Stack>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Section>
  )
}

/** The fees of one merchant for each operation, and a form to change them. */
export function FeeRules({ client }: { client: string }) {
  const t = useText(words)
  const format = useFormat()
  const may = useMay()
  const [isAll, setAll] = useState(false)
  const [changed, setChanged] = useState<Operation | null>(null)
  const fees = useFees(client, isAll)
  const ruleOf = (operation: Operation) => fees.data?.find((rule) => rule.operation === operation && rule.isInForce)
  return (
    <Section
      title={t.fees}
      aside={
        <Button size="compact-sm" variant="subtle" onClick={() => setAll(!isAll)} aria-pressed={isAll}>
          {isAll ? t.inForce : t.former}
        </Button>
      }
    >
      <Text size="sm" c="dimmed" mb="sm">
        {t.feesLead}
      </Text>
      {fees.isError && <ErrorNotice error={fees.error} onRetry={() => void fees.refetch()} />}
      {operations.map((operation) => {
        const rule = ruleOf(operation)
        const former = (fees.data ?? []).filter((one) => one.operation === operation && !one.isInForce)
        return (
          <Group key={operation} className="row" py={8} justify="space-between" wrap="nowrap" align="flex-start">
            <div>
              <Text size="sm" fw={600}>
                {t.operations[operation]}
              </Text>
              {fees.isPending && <Skeleton height={18} w={180} />}
              {fees.data && (
                <Text size="sm">
                  <RuleText rule={rule ?? nothing} />
                </Text>
              )}
              {rule && (
                <Text size="xs" c="dimmed">
                  {[
                    t.since(format.date(rule.validFrom)),
                    ...rule.examples.map(({ amount, fee }) => t.example(format.money(amount), format.money(fee))),
                  ].join(' · ')}
                </Text>
              )}
              {former.toReversed().map((one) => (
                <Text key={one.validFrom} size="xs" c="dimmed">
                  {t.since(format.dateTime(one.validFrom))}: <RuleText rule={one} />
                </Text>
              ))}
            </div>
            {may('fee.write') && (
              <Button
                size="compact-sm"
                variant="subtle"
                onClick={() => setChanged(operation)}
                aria-label={t.changeOf(t.operations[operation] ?? '')}
                disabled={!fees.data}
                style={{ flexShrink: 0 }}
              >
                {t.change}
              </Button>
            )}
          </Group>
        )
      })}
      {changed && (
        <ChangeRule
          key={changed}
          client={client}
          operation={changed}
          rule={ruleOf(changed) ?? null}
          onClose={() => setChanged(null)}
        />
      )}
    </Section>
  )
}

function ChangeRule({
  client,
  operation,
  rule,
  onClose,
}: {
  client: string
  operation: Operation
  /** Null if the operation has no fee yet. */
  rule: FeeView | null
  onClose: () => void
}) {
  const t = useText(words)
  const { language } = useLanguage()
  const queries = useQueryClient()
  // It names the rule of when the dialog opened: if another one is in force by now, the service refuses the change.
  const [validFrom] = useState(rule?.validFrom ?? null)
  const save = useMutationForm({
    initialValues: fromRule(rule ?? nothing),
    send: async (values) => await request('PUT', '/fee', { clientId: client, operation, validFrom, ...toRule(values) }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['fees'] })
      onClose()
    },
  })
  const what = t.operations[operation] ?? ''
  return (
    <Confirm title={t.changeOf(what)} isOpen onClose={onClose} confirm={t.set} action={save}>
      <SimpleGrid cols={2} spacing="sm">
        <MoneyInput {...save.input('fixed')} label={t.fixed} data-autofocus />
        <NumberInput
          {...save.input('basisPoints')}
          label={t.share}
          suffix=" %"
          decimalScale={2}
          decimalSeparator={language === 'pt' ? ',' : '.'}
          min={0}
          max={100}
          allowNegative={false}
          hideControls
        />
        <MoneyInput {...save.input('minimum')} label={t.minimum} />
        <MoneyInput {...save.input('maximum')} label={t.maximum} placeholder={t.noMaximum} />
      </SimpleGrid>
      {operation === 'refund' && (
        <Checkbox
          {...save.checkbox('returnsPaymentFee')}
          label={t.returnsPaymentFee}
          description={t.returnsPaymentFeeLead}
        />
      )}
      <Text size="sm">
        <RuleSummary what={what} rule={toRule(save.values)} />
      </Text>
    </Confirm>
  )
}

/**
 * The inputs of a rule. `basisPoints` has the name of the request's field, so that its errors are shown beside it, but
 * is a percentage, and text while it is typed. An empty amount is null.
 */
type RuleInputs = Omit<Rule, 'fixed' | 'basisPoints' | 'minimum'> & {
  fixed: number | null
  basisPoints: number | string
  minimum: number | null
}

function fromRule({ fixed, basisPoints, minimum, maximum, returnsPaymentFee }: Rule): RuleInputs {
  return { fixed, basisPoints: basisPoints / 100, minimum, maximum, returnsPaymentFee }
}

function toRule({ fixed, basisPoints: percent, minimum, ...others }: RuleInputs): Rule {
  const basisPoints = Math.round(Number(percent) * 100) || 0
  return { fixed: fixed ?? 0, basisPoints, minimum: minimum ?? 0, ...others }
}

function RuleSummary({ what, rule }: { what: string; rule: Rule }) {
  const t = useText(words)
  const format = useFormat()
  return t.setLead(what, describeRule(rule, t, format))
}

function RuleText({ rule }: { rule: Rule }) {
  const t = useText(words)
  const format = useFormat()
  return describeRule(rule, t, format)
}

/** `R$ 0.10 + 0.99%, at least R$ 0.20, at most R$ 5.00`. */
function describeRule(rule: Rule, t: ReturnType<typeof useText<(typeof words)['en']>>, format: Format): string {
  const { fixed, basisPoints, minimum, maximum, returnsPaymentFee } = rule
  const parts = [
    fixed > 0 ? format.money(fixed) : '',
    basisPoints > 0 ? format.share(basisPoints / 10_000) : '',
  ].filter((part) => part !== '')
  return [
    parts.join(' + ') || (minimum === 0 ? t.nothing : ''),
    minimum > 0 ? t.atLeast(format.money(minimum)) : '',
    maximum === null ? '' : t.atMost(format.money(maximum)),
    returnsPaymentFee ? t.withPaymentFee : '',
  ]
    .filter((part) => part !== '')
    .join(', ')
}
