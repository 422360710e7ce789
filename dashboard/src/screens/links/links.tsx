import { Button, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { request, withQuery } from '../../api.ts'
import { RequireMerchant } from '../../components/choose-merchant.tsx'
import { Empty } from '../../components/empty.tsx'
import { Page } from '../../components/page.tsx'
import { Amount, PhoneRow, RecordList } from '../../components/record-table.tsx'
import { useFilters } from '../../filters.ts'
import { useFormat } from '../../format.ts'
import { useClientLink } from '../../links.ts'
import { useRefreshEvery } from '../../live.ts'
import { useMay } from '../../session.tsx'
import { useText } from '../../text.ts'
import type { LinkResponse } from '../../types.ts'
import { LinkForm } from './form.tsx'
import { LinkState, usePrice } from './state.tsx'
import { words } from './text.ts'

/** The payment links of a merchant. */
export default function Links() {
  const t = useText(words)
  return <RequireMerchant title={t.title}>{(client) => <LinksOf client={client} />}</RequireMerchant>
}

function LinksOf({ client }: { client: string }) {
  const t = useText(words)
  const format = useFormat()
  const may = useMay()
  const priceOf = usePrice()
  const filters = useFilters()
  const toLink = useClientLink()
  const [, navigate] = useLocation()
  const [isCreating, setCreating] = useState(false)
  const list = useQuery({
    queryKey: ['links', client, filters.page],
    queryFn: async () =>
      await request<{ total: number; totalPages: number; data: LinkResponse[] }>(
        'GET',
        withQuery('/link', { clientId: client, page: filters.page }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: useRefreshEvery(15_000),
  })
  const create = may('transaction.write') && <Button onClick={() => setCreating(true)}>{t.create}</Button>
  const nameOf = ({ title }: LinkResponse) => (
    <Text size="sm" fw={600} lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
      {title}
    </Text>
  )
  return (
    <Page title={t.title} lead={t.lead} actions={create}>
      <RecordList
        label={t.listed}
        list={list}
        filters={filters}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => toLink(`/links/${id}`)}
        empty={
          <Empty icon="link" title={t.none}>
            {t.noneHint}
          </Empty>
        }
        phoneRowOf={(row) => (
          <PhoneRow
            lines={[
              [nameOf(row), <Amount key="received" of={row.paymentAmount} />],
              [priceOf(row), <LinkState key="state" of={row.state} />],
            ]}
          />
        )}
        columns={[
          { name: t.name, cell: nameOf },
          { name: t.amount, cell: (row) => <Text size="sm">{priceOf(row)}</Text> },
          { name: t.state, cell: ({ state }) => <LinkState of={state} /> },
          { name: t.payments, isAmount: true, cell: ({ paymentCount }) => format.number(paymentCount) },
          { name: t.received, isAmount: true, cell: ({ paymentAmount }) => <Amount of={paymentAmount} /> },
          {
            name: t.created,
            isHiddenOnPhone: true,
            cell: ({ createdAt }) => (
              <Text size="sm" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
                {format.date(createdAt)}
              </Text>
            ),
          },
        ]}
      />
      {isCreating && (
        <LinkForm
          client={client}
          link={null}
          onClose={() => setCreating(false)}
          onSaved={({ id }) => navigate(toLink(`/links/${id}`))}
        />
      )}
    </Page>
  )
}
