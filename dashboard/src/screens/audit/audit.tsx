import { Anchor, Select, Stack, Text } from '@mantine/core'
import { Link } from 'wouter'
import { download, withQuery } from '../../api.ts'
import { DateRange } from '../../components/date-range.tsx'
import { Empty } from '../../components/empty.tsx'
import { ExportButton } from '../../components/export-button.tsx'
import { TextFilter } from '../../components/filter-inputs.tsx'
import { LogPage, useLog } from '../../components/log-page.tsx'
import { dayEnd, dayStart } from '../../days.ts'
import { useFilters } from '../../filters.ts'
import { useFormat } from '../../format.ts'
import { periodOf } from '../../periods.ts'
import { screens } from '../../screens.ts'
import { useMay, useUser } from '../../session.tsx'
import { useActorName, useLanguage, useText } from '../../text.ts'
import type { ActionName, Actions, CellWriters } from '../../types.ts'
import { words as ledgerWords } from '../ledger/text.ts'
import { writeDetails } from './details.ts'
import { sentences, writeAction } from './sentences.ts'
import { words } from './text.ts'

type Action = Actions['data'][number]

export default function Audit() {
  const t = useText(words)
  const format = useFormat()
  const filters = useFilters()
  const [person, area] = [filters.get('person'), filters.get('area')]
  const { from = '', until = '' } = periodOf(filters)
  const query = { person, area, from: dayStart(from), until: dayEnd(until) }
  const log = useLog<Action>('audit', '/audit', query)
  const areas = Object.entries(t.areas).map(([value, label]) => ({ value, label }))
  const none = filters.count === 0 ? t.none : log.hasNextPage ? t.noMatchYet : t.noMatch
  const time = ({ at }: Action) => (
    <Text size="sm" style={{ whiteSpace: 'nowrap' }}>
      {format.dateTime(at)}
    </Text>
  )
  return (
    <LogPage
      title={t.title}
      lead={t.lead}
      actions={
        <ExportButton
          name="audit"
          download={async () => await download(withQuery('/audit.csv', query))}
          writers={useCellWriters()}
        />
      }
      filters={
        <>
          <TextFilter label={t.person} name="person" />
          <Select
            label={t.area}
            w={{ base: '100%', xs: 260 }}
            value={area}
            allowDeselect={false}
            onChange={(value) => filters.set({ area: value ?? '' })}
            data={[{ value: '', label: t.all }, ...areas.toSorted((a, b) => a.label.localeCompare(b.label))]}
          />
          <DateRange />
        </>
      }
      log={log}
      empty={<Empty icon="audit" title={none} guide="dashboard" />}
      phoneRowOf={(row) => (
        <Stack gap={2}>
          <Entry of={row} />
          <Text size="xs" c="dimmed">
            {format.dateTime(row.at)}
          </Text>
        </Stack>
      )}
      columns={[
        { name: t.at, cell: time },
        { name: t.what, cell: (row) => <Entry of={row} /> },
      ]}
    />
  )
}

/** The action and its details in words. The amount and the persons have columns of their own. */
function useCellWriters(): CellWriters {
  const { language } = useLanguage()
  const format = useFormat()
  const accounts = useText(ledgerWords).accountNames
  return {
    action: (name) => (sentences[language][name as ActionName] ?? name).replace(/\{\w+\}|[[\]]/g, ''),
    details: (text) => writeDetails(JSON.parse(text), { language, format, accounts }),
  }
}

/** Who did what, and the details. */
function Entry({ of: row }: { of: Action }) {
  const t = useText(words)
  const { language } = useLanguage()
  const format = useFormat()
  const isOperator = useUser().merchant === null
  const { details, merchant, userName } = row
  const ownAmount = typeof details?.amount === 'number' ? details.amount : null
  const amount = ownAmount ?? row.amount
  const values = {
    amount: amount === null ? '' : t.of(format.money(amount)),
    user: userName === null ? '' : ` ${userName}`,
  }
  const [before, object, after] = writeAction(row.action, values, language)
  const may = useMay()
  const path = object === '' ? null : pathOf(row, may)
  const toHref = (to: string) =>
    isOperator && merchant !== null ? `${to}?${new URLSearchParams({ client: merchant.clientId })}` : to
  const who = useActorName()(row.actor)
  const extra = [
    row.actorName !== null && who,
    writeDetails(details, { language, format, accounts: useText(ledgerWords).accountNames }),
  ]
    .filter(Boolean)
    .join(' · ')
  return (
    <div style={{ overflowWrap: 'anywhere' }}>
      <Text size="sm" component="div">
        <b>{row.actorName ?? who}</b> {before}
        {path === null ? (
          object
        ) : (
          <Anchor component={Link} inherit underline="always" href={toHref(path)}>
            {object}
          </Anchor>
        )}
        {after}
        {merchant !== null &&
          isOperator &&
          (row.action.startsWith('user.') ? ` (${merchant.name})` : t.of(merchant.name))}
      </Text>
      {extra !== '' && (
        <Text size="xs" c="dimmed" component="div">
          {extra}
        </Text>
      )}
    </div>
  )
}

/** The screen of what an entry is about; null if there is none that the user's role may open. */
function pathOf({ action, recordId }: Action, may: (permission: string) => boolean): string | null {
  const [area = ''] = action.split('.')
  const folder = folders[area]
  const isOfRecord = folder !== undefined && recordId !== null && !action.startsWith('withdrawal.limits')
  const path = isOfRecord ? `${folder}/${recordId}` : (screenPaths[area] ?? null)
  // A record has the permission of the screen that lists it.
  const list = path?.replace(/(?<=.)\/.*/, '')
  const permission = screens.find(({ paths }) => paths.some((one) => one === list))?.permission ?? null
  return permission === null || may(permission) ? path : null
}

const folders: Record<string, string> = {
  transaction: '/transactions',
  infraction: '/transactions',
  withdrawal: '/withdrawals',
  suspense: '/reconciliation/suspense',
  'payment-link': '/links',
}

const screenPaths: Record<string, string> = {
  withdrawal: '/withdrawals',
  payouts: '/system',
  branding: '/payment-page',
  client: '/credentials',
  close: '/reconciliation',
  reconcile: '/reconciliation',
  entry: '/ledger',
  customer: '/personal-data',
  report: '/month',
  user: '/users',
  webhook: '/webhooks',
  'webhook-endpoint': '/webhooks',
}
