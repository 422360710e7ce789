import { Anchor, Badge, Group, Text } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { request } from '../../api.ts'
import { EmptyList } from '../../components/empty.tsx'
import { TextFilter } from '../../components/filter-inputs.tsx'
import { StatusTabs, type Tab } from '../../components/list-tabs.tsx'
import { Page, Section } from '../../components/page.tsx'
import { ListFilters } from '../../components/record-filters.tsx'
import { CursorList, merchantLine, OneLine, PhoneRow } from '../../components/record-table.tsx'
import { SavedViews } from '../../components/saved-views.tsx'
import { useFilters } from '../../filters.ts'
import { useFormat } from '../../format.ts'
import { useRefreshEvery } from '../../live.ts'
import { periodOf } from '../../periods.ts'
import { useText } from '../../text.ts'
import type { DeliveryCounts, DeliveryItems } from '../../types.ts'
import { DeliveryState, EventName, EventType, EventTypeFilter, hostOf, StateAndError } from './state.tsx'
import { words } from './text.ts'

const tabs = (['waiting', 'failing', 'delivered', 'given_up'] as const).map((name): Tab => ({ name, statuses: [name] }))

/** The webhook deliveries of all merchants, for the operator. */
export function AllWebhooks() {
  const t = useText(words)
  const filters = useFilters()
  const { from, until } = periodOf(filters)
  const [after, before] = [filters.get('after'), filters.get('before')]
  const [type, receiverText] = [filters.get('type'), filters.get('receiver')]
  const receiver = originOf(receiverText)
  const tab = filters.all('status').find((one) => tabs.some(({ name }) => name === one))
  const query = {
    ...(tab && { tab }),
    ...(type && { type }),
    ...(receiverText && { receiver: receiver ?? receiverText }),
    ...(from && { from }),
    ...(until && { until }),
  }
  const body = { ...query, ...(after && { after }), ...(!after && before && { before }) }
  const list = useQuery({
    queryKey: ['deliveries', 'all', body],
    queryFn: async () =>
      receiverText && receiver === null ? noDeliveries : await request<DeliveryItems>('POST', '/list/delivery', body),
    placeholderData: keepPreviousData,
    refetchInterval: useRefreshEvery(15_000, 'deliveries'),
  })
  const summary = useQuery({
    queryKey: ['receivers', 'all'],
    queryFn: async () => await request<DeliveryCounts>('POST', '/list/delivery/summary', {}),
    refetchInterval: useRefreshEvery(30_000),
    // The summary is requested once the list is loaded.
    enabled: list.data !== undefined,
  })
  // The counts are of all deliveries, so they are shown only while no filter besides the tab is set.
  const isCounted = Object.keys(query).every((name) => name === 'tab')
  return (
    <Page
      title={t.title}
      lead={t.allLead}
      actions={
        <SavedViews
          screen="webhooks"
          builtIn={[
            { name: t.failingNow, query: 'status=failing' },
            { name: t.givenUpThisWeek, query: 'status=given_up&period=last7' },
          ]}
        />
      }
    >
      <Worst of={summary.data?.worst ?? []} />
      <Filters />
      <StatusTabs tabs={tabs} summary={isCounted && summary.data ? { ...summary.data, isMore: false } : undefined} />
      <List list={list} />
    </Page>
  )
}

const noDeliveries: DeliveryItems = { data: [], next: null, previous: null, searchedUntil: null }

/** The filter needs scheme, host and port. A host without a scheme gets https. Null if the text is not an address. */
function originOf(text: string): string | null {
  const address = /^https?:\/\//i.test(text) ? text : `https://${text}`
  return URL.canParse(address) ? new URL(address).origin : null
}

function Filters() {
  const t = useText(words)
  const receiver = useFilters().get('receiver')
  const isUnreadable = receiver !== '' && originOf(receiver) === null
  return (
    <ListFilters
      more={
        <>
          <EventTypeFilter />
          <TextFilter label={t.receiverFilter} name="receiver" error={isUnreadable && t.badReceiver} />
        </>
      }
    />
  )
}

/** The merchants whose webhooks fail most. */
function Worst({ of: worst }: { of: DeliveryCounts['worst'] }) {
  const t = useText(words)
  const format = useFormat()
  if (worst.length === 0) return null
  return (
    <Section title={t.worst}>
      {worst.map(({ clientId, name, failing, givenUp, state }) => (
        <Group key={clientId} className="row" py={8} justify="space-between">
          <Anchor
            component={Link}
            href={`/webhooks?${new URLSearchParams({ client: clientId, state })}`}
            size="sm"
            fw={600}
            c="inherit"
            style={{ minWidth: 0, overflowWrap: 'anywhere' }}
          >
            {name}
          </Anchor>
          <Group gap={6}>
            {failing > 0 && (
              <Badge variant="light" color="orange" tt="none" radius="sm">
                {t.failing(format.number(failing))}
              </Badge>
            )}
            {givenUp > 0 && (
              <Badge variant="light" color="red" tt="none" radius="sm">
                {t.givenUp(format.number(givenUp))}
              </Badge>
            )}
          </Group>
        </Group>
      ))}
    </Section>
  )
}

function List({ list }: { list: { data: DeliveryItems | undefined; error: Error | null; refetch: () => unknown } }) {
  const t = useText(words)
  const format = useFormat()
  const filters = useFilters()
  const when = (at: string) => (format.isToday(at) ? format.time(at) : format.dateTime(at))
  return (
    <>
      <CursorList
        list={list}
        filters={filters}
        total={null}
        live={{ root: 'deliveries', kind: 'delivery' }}
        label={t.deliveries}
        keyOf={({ clientId, eventId, endpointId }) => `${clientId} ${eventId} ${endpointId}`}
        hrefOf={({ clientId, eventId, endpointId }) =>
          `/webhooks?${new URLSearchParams({
            ...{ client: clientId, delivery: eventId },
            ...(endpointId !== null && { endpoint: endpointId }),
          })}`
        }
        phoneRowOf={({ at, type, url, state, clientName }) => (
          <PhoneRow
            lines={[
              [<EventName key="type" of={type} />, <DeliveryState key="state" of={state} />],
              [
                <Text key="receiver" size="xs" c="dimmed" className="identifier" component="span">
                  {hostOf(url)}
                </Text>,
                <Text key="at" size="xs" c="dimmed">
                  {when(at)}
                </Text>,
              ],
              merchantLine(clientName),
            ]}
          />
        )}
        columns={[
          { name: t.when, cell: ({ at }) => <OneLine text={when(at)} title={format.dateTime(at)} /> },
          { name: t.merchant, cell: ({ clientName }) => <OneLine text={clientName} /> },
          { name: t.type, cell: ({ type }) => <EventType of={type} /> },
          {
            name: t.receiver,
            isHiddenOnPhone: true,
            cell: ({ url }) => <OneLine text={hostOf(url)} title={url} isIdentifier />,
          },
          { name: t.attempts, isHiddenOnPhone: true, isAmount: true, cell: ({ attempts }) => format.number(attempts) },
          { name: t.state, cell: (row) => <StateAndError of={row} /> },
        ]}
        empty={
          <EmptyList
            isFiltered={filters.count > 0}
            noneFound={t.noneFound}
            icon="webhooks"
            title={t.none}
            action="charge"
            guide="webhooks"
          >
            {t.noneHint}
          </EmptyList>
        }
      />
      {list.data?.searchedUntil && (
        <Text size="sm" c="dimmed">
          {t.searchedUntil(format.dateTime(list.data.searchedUntil))}
        </Text>
      )}
    </>
  )
}
