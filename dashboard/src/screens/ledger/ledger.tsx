import { Alert, Anchor, Group, SimpleGrid, Skeleton, Stack, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { guiche, request, withQuery } from '../../api.ts'
import { RequireMerchant } from '../../components/choose-merchant.tsx'
import { DayInput } from '../../components/day-input.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Page, Section } from '../../components/page.tsx'
import { WaitingProposals } from '../../components/proposals.tsx'
import { dayEnd, todayInBrasilia } from '../../days.ts'
import { useFilters } from '../../filters.ts'
import { useFormat } from '../../format.ts'
import { useRefreshEvery } from '../../live.ts'
import { writeFreezeReasons } from '../../reason-texts.ts'
import { useClient, useMay, useUser } from '../../session.tsx'
import { useLanguage, useText } from '../../text.ts'
import type { Account, LedgerView } from '../../types.ts'
import { RequestButton } from '../withdrawals/request.tsx'
import { BalanceChart } from './balance-chart.tsx'
import { NewEntry, OperatorEntries } from './entries.tsx'
import { AllFeeRules, FeeRules } from './fees.tsx'
import { Statement } from './statement.tsx'
import { useAccountNames, words } from './text.ts'

const accounts: Account[] = ['available', 'reserved', 'blocked', 'fees', 'suspense', 'debt', 'acquirer']

/** The balances and the statement of a merchant, or the whole ledger if no merchant is chosen. */
export default function Ledger() {
  const t = useText(words)
  const client = useClient()
  const may = useMay()
  if (client === null && may('ledger.read')) return <WholeLedger />
  return <RequireMerchant title={t.titleOfClient}>{(clientId) => <MerchantLedger client={clientId} />}</RequireMerchant>
}

function WholeLedger() {
  const t = useText(words)
  const ledger = useQuery({
    queryKey: ['ledger'],
    queryFn: async () => await request<LedgerView>('GET', '/ledger'),
    refetchInterval: useRefreshEvery(15_000),
  })
  if (ledger.isLoadingError) return <ErrorNotice error={ledger.error} onRetry={() => void ledger.refetch()} />
  const { data } = ledger
  return (
    <Page title={t.title} lead={t.lead} actions={<NewEntry clientId={null} />}>
      {data ? <Health ledger={data} /> : <Skeleton height={84} />}
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg" style={{ alignItems: 'start' }}>
        <Section title={t.allMerchants}>
          {data ? <Accounts label={t.allMerchants} of={data.accounts} /> : <Skeleton height={260} />}
        </Section>
        <Section title={t.operator} aside={<SuspenseLink />}>
          <Text size="sm" c="dimmed" mb="xs">
            {t.operatorLead}
          </Text>
          {data?.operator ? <Accounts label={t.operator} of={data.operator} isShort /> : <Skeleton height={200} />}
        </Section>
      </SimpleGrid>
      <Section title={t.atPsps}>
        <Text size="sm" c="dimmed" mb="xs">
          {t.atPspsLead}
        </Text>
        {data ? <PspBalances of={data.acquirers} /> : <Skeleton height={120} />}
      </Section>
      <WaitingProposals kindPrefix="entry." />
      <OperatorEntries clientId={null} />
      <AllFeeRules />
    </Page>
  )
}

/** The balance of each PSP by the ledger and by the PSP. */
function PspBalances({ of }: { of: LedgerView['acquirers'] }) {
  const t = useText(words)
  const format = useFormat()
  if (of.length === 0) return <Text size="sm">{t.noPsps}</Text>
  return (
    <Stack gap={0}>
      {of.map(({ acquirer, ledgerBalance, compared }) => (
        <div key={acquirer} className="row" style={{ padding: 'var(--mantine-spacing-xs) 0' }}>
          <SimpleGrid cols={{ base: 2, sm: 4 }} spacing="sm" component="dl" m={0}>
            <Fact
              name={t.account}
              value={acquirer}
              note={compared ? t.comparedAt(format.fromNow(compared.at)) : null}
            />
            <Fact name={t.byLedger} value={format.money(compared?.ledgerBalance ?? ledgerBalance)} />
            <Fact
              name={t.byPsp}
              value={compared ? format.money(compared.available + (compared.blocked ?? 0)) : t.notReported}
              note={compared?.blocked ? t.blockedOfIt(format.money(compared.blocked)) : null}
            />
            <Fact
              name={t.difference}
              value={compared ? format.money(compared.difference) : '–'}
              isDiscrepant={compared !== null && compared.difference !== 0}
            />
          </SimpleGrid>
        </div>
      ))}
    </Stack>
  )
}

function SuspenseLink() {
  const t = useText(words)
  if (!useMay()('reconciliation.read')) return null
  return (
    <Anchor component={Link} href="/reconciliation?tab=suspense" size="sm">
      {t.toSuspense}
    </Anchor>
  )
}

/** Whether the ledger balances, and whether payouts are frozen. */
function Health({ ledger: { unevenMerchants, verified, payoutFreeze } }: { ledger: LedgerView }) {
  const t = useText(words)
  const { language } = useLanguage()
  const format = useFormat()
  const may = useMay()
  const toSystem = may('system.read') && (
    <Anchor component={Link} href="/system" size="sm" c="inherit" td="underline">
      {t.toSystem}
    </Anchor>
  )
  const isEven = unevenMerchants === 0
  return (
    <Stack gap="sm">
      <Alert
        color={isEven ? 'teal' : 'red'}
        variant={isEven ? 'default' : 'light'}
        title={isEven ? t.agrees : t.uneven(format.number(unevenMerchants))}
      >
        <Text size="sm">
          {isEven ? t.agreesLead : t.unevenLead}{' '}
          {verified ? t.verified(format.fromNow(verified.all.at), format.fromNow(verified.recent.at)) : t.notVerified}
        </Text>
      </Alert>
      {payoutFreeze && (
        <Alert color="red" title={t.stopped}>
          <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
            {t.stoppedSince(format.dateTime(payoutFreeze.engagedAt))}{' '}
            {writeFreezeReasons(payoutFreeze.reasons, language, format)}
          </Text>
          {toSystem}
        </Alert>
      )}
    </Stack>
  )
}

/** The balance of each account. They add up to zero. `isShort` hides zero balances, except that of suspense. */
function Accounts({ label, of, isShort }: { label: string; of: LedgerView['accounts']; isShort?: boolean }) {
  const t = useText(words)
  const format = useFormat()
  const shown = accounts.filter((account) => !isShort || of[account] !== 0 || account === 'suspense')
  const sum = accounts.reduce((total, account) => total + of[account], 0)
  return (
    <Table verticalSpacing={6} horizontalSpacing={0} aria-label={label}>
      <Table.Thead className="unseen">
        <Table.Tr>
          <Table.Th>{t.account}</Table.Th>
          <Table.Th>{t.balance}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {shown.map((account) => (
          <Table.Tr key={account}>
            <Table.Td>
              <Text size="sm">{t.accountNames[account][0]}</Text>
              <Text size="xs" c="dimmed">
                {t.accountNames[account][1]}
              </Text>
            </Table.Td>
            <Table.Td ta="right" pl="sm" style={{ whiteSpace: 'nowrap' }}>
              {format.money(of[account])}
            </Table.Td>
          </Table.Tr>
        ))}
        <Table.Tr>
          <Table.Td fw={600}>{t.sum}</Table.Td>
          <Table.Td ta="right" fw={600} c={sum === 0 ? undefined : 'red'}>
            {format.money(sum)}
          </Table.Td>
        </Table.Tr>
      </Table.Tbody>
    </Table>
  )
}

function MerchantLedger({ client }: { client: string }) {
  const t = useText(words)
  const may = useMay()
  const filters = useFilters()
  const isOwn = useUser().merchant !== null
  const at = dayEnd(filters.get('at'))
  return (
    <Page
      title={isOwn ? t.titleOfOwn : t.title}
      lead={isOwn ? t.leadOfOwn : t.lead}
      actions={
        <Group align="flex-end" gap="xs">
          <DayInput
            label={t.at}
            value={filters.get('at')}
            onChange={(at) => filters.set({ at })}
            max={todayInBrasilia()}
            w={180}
          />
          <NewEntry clientId={client} />
          {isOwn && may('withdrawal.write') && <RequestButton client={client} label={t.withdraw} />}
        </Group>
      }
    >
      <Balance client={client} at={at} />
      <BalanceChart client={client} />
      <Statement client={client} />
      <SimpleGrid cols={{ base: 1, md: may('ledger.read') ? 2 : 1 }} spacing="lg" style={{ alignItems: 'start' }}>
        <FeeRules client={client} />
        {may('ledger.read') && <MerchantAccounts client={client} at={at} />}
      </SimpleGrid>
      {may('ledger.read') && <OperatorEntries clientId={client} />}
    </Page>
  )
}

function Balance({ client, at }: { client: string; at: string | undefined }) {
  const names = useAccountNames()
  const format = useFormat()
  const balance = useQuery({
    queryKey: ['balance', client, at],
    queryFn: async () => await guiche.balance.get(at === undefined ? {} : { at }),
    ...(at === undefined && { refetchInterval: 15_000 }),
  })
  if (balance.isLoadingError) return <ErrorNotice error={balance.error} onRetry={() => void balance.refetch()} />
  const { data } = balance
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }} spacing="sm">
      {(['available', 'reserved', 'blocked', 'debt'] as const).map((account) => (
        <div key={account} className="card tile">
          <Text size="sm" c="dimmed">
            {names[account][0]}
          </Text>
          {data ? (
            <Text fw={650} className="tile-value" style={{ '--length': format.money(data[account]).length }}>
              {format.money(data[account])}
            </Text>
          ) : (
            <Skeleton height={28} />
          )}
        </div>
      ))}
    </SimpleGrid>
  )
}

/** All accounts, including those that a merchant's users do not see. */
function MerchantAccounts({ client, at }: { client: string; at: string | undefined }) {
  const t = useText(words)
  const ledger = useQuery({
    queryKey: ['ledger', client, at],
    queryFn: async () => await request<LedgerView>('GET', withQuery('/ledger', { clientId: client, at })),
  })
  if (ledger.isLoadingError) return <ErrorNotice error={ledger.error} onRetry={() => void ledger.refetch()} />
  return (
    <Section title={t.accounts}>
      {ledger.data ? <Accounts label={t.accounts} of={ledger.data.accounts} isShort /> : <Skeleton height={160} />}
    </Section>
  )
}

function Fact({
  name,
  value,
  note = null,
  isDiscrepant = false,
}: {
  name: string
  value: string
  note?: string | null
  isDiscrepant?: boolean
}) {
  return (
    <div>
      <Text size="xs" c="dimmed" component="dt">
        {name}
      </Text>
      <Text
        size="sm"
        fw={600}
        component="dd"
        m={0}
        c={isDiscrepant ? 'red' : undefined}
        style={{ overflowWrap: 'anywhere' }}
      >
        {value}
      </Text>
      {note && (
        <Text size="xs" c="dimmed" component="dd" m={0}>
          {note}
        </Text>
      )}
    </div>
  )
}
