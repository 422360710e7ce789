import { Button, SegmentedControl, Select, Stack, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { guiche, request, withQuery } from '../../api.ts'
import { RequireMerchant } from '../../components/choose-merchant.tsx'
import { DateRange } from '../../components/date-range.tsx'
import { Empty, EmptyList } from '../../components/empty.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { FilterBar } from '../../components/filter-bar.tsx'
import { TextFilter } from '../../components/filter-inputs.tsx'
import { useMerchants } from '../../components/merchant-switch.tsx'
import { Page } from '../../components/page.tsx'
import { Pages, PhoneRow, RecordList, RecordTable } from '../../components/record-table.tsx'
import { useSelection } from '../../components/selection.tsx'
import { dayEnd, dayStart } from '../../days.ts'
import { useExistingPage, useFilters } from '../../filters.ts'
import { useFormat } from '../../format.ts'
import { useClientLink } from '../../links.ts'
import { useRefreshEvery } from '../../live.ts'
import { periodOf } from '../../periods.ts'
import { useClient, useMay } from '../../session.tsx'
import { useText } from '../../text.ts'
import type { Deliveries } from '../../types.ts'
import { AllWebhooks } from './all.tsx'
import { DeliveryDrawer } from './delivery.tsx'
import { Endpoints } from './endpoints.tsx'
import { ReceiverLink, Receivers } from './receivers.tsx'
import { ResendMany } from './resend-many.tsx'
import { isResendable, ResendSelected } from './resend-selected.tsx'
import { DeliveryState, EventName, EventType, EventTypeFilter, hostOf, StateAndError } from './state.tsx'
import { words } from './text.ts'

const states = ['pending', 'waiting', 'delivered', 'exhausted', 'gone', 'canceled']

/** The webhook deliveries of all merchants; or of one, with its receivers and buttons to resend deliveries. */
export default function Webhooks() {
  const client = useClient()
  return client === null ? <OperatorWebhooks /> : <MerchantWebhooks client={client} />
}

function OperatorWebhooks() {
  const t = useText(words)
  const hasSeveral = (useMerchants().data?.length ?? 0) > 1
  if (hasSeveral) return <AllWebhooks />
  // The only merchant is chosen automatically.
  return <RequireMerchant title={t.title}>{(client) => <MerchantWebhooks client={client} />}</RequireMerchant>
}

function MerchantWebhooks({ client }: { client: string }) {
  const t = useText(words)
  const may = useMay()
  const filters = useFilters()
  const [, setQuery] = useSearchParams()
  const [isResending, setResending] = useState(false)
  const view = filters.get('view') || 'deliveries'
  const closeDelivery = () =>
    setQuery((before) => {
      const next = new URLSearchParams(before)
      next.delete('delivery')
      next.delete('endpoint')
      return next
    })
  return (
    <Page
      title={t.title}
      lead={t.lead}
      actions={
        may('webhook.write') && (
          <Button variant="default" onClick={() => setResending(true)}>
            {t.many}
          </Button>
        )
      }
    >
      <Receivers client={client} />
      <SegmentedControl
        style={{ alignSelf: 'flex-start' }}
        value={view}
        onChange={(next) => filters.set({ view: next === 'deliveries' ? '' : next, endpointId: '' })}
        aria-label={t.title}
        data={[
          { value: 'deliveries', label: t.deliveries },
          { value: 'events', label: t.events },
          { value: 'endpoints', label: t.endpoints },
        ]}
      />
      {view === 'deliveries' && <DeliveryList client={client} />}
      {view === 'events' && <EventList client={client} />}
      {view === 'endpoints' && <Endpoints client={client} />}
      <DeliveryDrawer
        client={client}
        eventId={filters.get('delivery')}
        endpointId={filters.get('endpoint') || null}
        onClose={closeDelivery}
      />
      {isResending && <ResendMany client={client} onClose={() => setResending(false)} />}
    </Page>
  )
}

function DeliveryList({ client }: { client: string }) {
  const t = useText(words)
  const format = useFormat()
  const filters = useFilters()
  const [query] = useSearchParams()
  const listQuery = {
    clientId: client,
    state: filters.get('state'),
    type: filters.get('type'),
    recordId: filters.get('recordId'),
    endpointId: filters.get('endpointId'),
    receiver: filters.get('receiver'),
    from: dayStart(periodOf(filters).from ?? ''),
    until: dayEnd(periodOf(filters).until ?? ''),
    page: filters.page,
  }
  const list = useQuery({
    queryKey: ['deliveries', listQuery],
    queryFn: async () => await request<Deliveries>('GET', withQuery('/webhook/delivery', listQuery)),
    placeholderData: keepPreviousData,
    refetchInterval: useRefreshEvery(5_000),
  })
  const isPastEnd = useExistingPage(list.data, filters)
  const may = useMay()
  const selection = useSelection(
    may('webhook.write') ? (list.data?.data ?? []).filter(isResendable) : [],
    ({ eventId, endpointId }) => `${eventId} ${endpointId}`,
  )
  const count = ['state', 'type', 'recordId', 'endpointId', 'receiver', 'from', 'until', 'period'].filter(
    (name) => filters.get(name) !== '',
  ).length
  return (
    <Stack gap="sm">
      <FilterBar
        count={count}
        onClear={filters.clear}
        common={
          <>
            <Select
              label={t.state}
              placeholder={t.anyState}
              data={states.map((value) => ({ value, label: t.states[value] ?? value }))}
              value={filters.get('state') || null}
              onChange={(value) => filters.set({ state: value ?? '' })}
              clearable
              w={{ base: '100%', xs: 170 }}
            />
            <EventTypeFilter w={{ base: '100%', xs: 240 }} />
            <DateRange />
          </>
        }
        more={
          <>
            <TextFilter label={t.record} name="recordId" />
            <TextFilter label={t.endpointId} name="endpointId" />
            <TextFilter label={t.receiverFilter} name="receiver" />
          </>
        }
      />
      {list.isLoadingError ? (
        <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
      ) : (
        <RecordTable
          label={t.deliveries}
          rows={isPastEnd ? undefined : list.data?.data}
          keyOf={({ eventId, endpointId }) => `${eventId} ${endpointId}`}
          hrefOf={({ eventId, endpointId }) =>
            `/webhooks?${withParameters(query, { delivery: eventId, endpoint: endpointId ?? '' })}`
          }
          phoneRowOf={({ type, url, state, createdAt }) => (
            <PhoneRow
              lines={[
                [<EventName key="type" of={type} />, <DeliveryState key="state" of={state} />],
                [
                  <Text key="receiver" size="xs" c="dimmed" className="identifier" component="span">
                    {hostOf(url)}
                  </Text>,
                  <Text key="at" size="xs" c="dimmed">
                    {format.dateTime(createdAt)}
                  </Text>,
                ],
              ]}
            />
          )}
          columns={[
            { name: t.when, cell: ({ createdAt }) => <Text size="sm">{format.dateTime(createdAt)}</Text> },
            {
              name: t.type,
              cell: ({ type }) => <EventType of={type} />,
            },
            {
              name: t.receiver,
              isHiddenOnPhone: true,
              cell: ({ url }) => <ReceiverLink receiver={new URL(url).origin}>{hostOf(url)}</ReceiverLink>,
            },
            {
              name: t.attempts,
              isHiddenOnPhone: true,
              isAmount: true,
              cell: ({ attempts }) => format.number(attempts.length),
            },
            {
              name: t.state,
              cell: (row) => <StateAndError of={row} />,
            },
          ]}
          empty={
            <EmptyList
              isFiltered={count > 0}
              noneFound={t.noneFound}
              icon="webhooks"
              title={t.none}
              action="charge"
              guide="webhooks"
            >
              {t.noneHint}
            </EmptyList>
          }
          selection={{
            ...selection,
            nameOf: ({ type, url, createdAt }) => t.select(type, hostOf(url), format.dateTime(createdAt)),
          }}
        />
      )}
      {list.data?.isMore && (
        <Text size="sm" c="dimmed">
          {t.more(format.number(list.data.total - 1))}
        </Text>
      )}
      {list.data && list.data.total > 0 && (
        <Pages total={list.data.total} totalPages={list.data.totalPages} page={filters.page} onPage={filters.goTo} />
      )}
      <ResendSelected client={client} selection={selection} />
    </Stack>
  )
}

/** All events, including those without a webhook URL. */
function EventList({ client }: { client: string }) {
  const t = useText(words)
  const format = useFormat()
  const filters = useFilters()
  const may = useMay()
  const toLink = useClientLink()
  const list = useQuery({
    queryKey: ['events', client, filters.page],
    queryFn: async () => await guiche.events.list({ page: filters.page }).page(),
    placeholderData: keepPreviousData,
    refetchInterval: useRefreshEvery(5_000),
  })
  return (
    <RecordList
      list={list}
      filters={filters}
      label={t.events}
      keyOf={({ id }) => id}
      hrefOf={({ recordType, recordId }) => (may(`${recordType}.read`) ? toLink(`/${recordType}s/${recordId}`) : null)}
      phoneRowOf={({ type, delivery, createdAt }) => (
        <PhoneRow
          lines={[
            [
              <EventName key="type" of={type} />,
              delivery === null ? null : <DeliveryState key="state" of={delivery} />,
            ],
            [
              <Text key="at" size="xs" c="dimmed" component="span">
                {format.dateTime(createdAt)}
              </Text>,
              delivery === null ? (
                <Text key="none" size="xs" c="dimmed">
                  {t.noAddress}
                </Text>
              ) : null,
            ],
          ]}
        />
      )}
      columns={[
        { name: t.when, cell: ({ createdAt }) => <Text size="sm">{format.dateTime(createdAt)}</Text> },
        {
          name: t.type,
          cell: ({ type }) => <EventType of={type} />,
        },
        {
          name: t.state,
          cell: ({ delivery }) =>
            delivery === null ? (
              <Text size="xs" c="dimmed">
                {t.noAddress}
              </Text>
            ) : (
              <DeliveryState of={delivery} />
            ),
        },
      ]}
      empty={
        <Empty icon="webhooks" title={t.noEvents} action="charge" guide="webhooks">
          {t.noEventsHint}
        </Empty>
      }
    />
  )
}

function withParameters(query: URLSearchParams, values: Record<string, string>): string {
  const next = new URLSearchParams(query)
  for (const [name, value] of Object.entries(values)) next.set(name, value)
  return next.toString()
}
