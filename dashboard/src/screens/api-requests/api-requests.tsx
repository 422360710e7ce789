import { Code, Drawer, Select, Text, UnstyledButton } from '@mantine/core'
import { useState } from 'react'
import { RequireMerchant } from '../../components/choose-merchant.tsx'
import { Empty } from '../../components/empty.tsx'
import { TextFilter } from '../../components/filter-inputs.tsx'
import { LogPage, useLog } from '../../components/log-page.tsx'
import { PhoneRow } from '../../components/record-table.tsx'
import { useFilters } from '../../filters.ts'
import { useFormat } from '../../format.ts'
import { useText } from '../../text.ts'
import type { ApiRequests } from '../../types.ts'
import { Details, HttpStatus, RecordLink } from './details.tsx'
import { words } from './text.ts'

type ApiRequest = ApiRequests['data'][number]

/** For developers: the requests that a merchant's systems sent to the API. */
export default function ApiRequestsScreen() {
  const t = useText(words)
  return <RequireMerchant title={t.title}>{(client) => <RequestLog client={client} />}</RequireMerchant>
}

function RequestLog({ client }: { client: string }) {
  const t = useText(words)
  const format = useFormat()
  const filters = useFilters()
  const [opened, setOpened] = useState<ApiRequest | null>(null)
  const [statusClass, route, requestId] = [filters.get('result'), filters.get('route'), filters.get('requestId')]
  const log = useLog<ApiRequest>('api-requests', '/api-request', { clientId: client, statusClass, route, requestId })
  const open = (row: ApiRequest) => (
    <UnstyledButton onClick={() => setOpened(row)} aria-label={t.details(`${row.method} ${row.route}`)}>
      <Text size="sm" className="identifier" td="underline">
        {row.method} {row.route}
      </Text>
    </UnstyledButton>
  )
  return (
    <LogPage
      title={t.title}
      lead={t.lead}
      filters={
        <>
          <Select
            label={t.status}
            w={{ base: '100%', xs: 260 }}
            value={statusClass}
            allowDeselect={false}
            onChange={(value) => filters.set({ result: value ?? '' })}
            data={[
              { value: '', label: t.all },
              { value: '4', label: t.clientError },
              { value: '5', label: t.serverError },
              { value: '2', label: t.success },
            ]}
          />
          <TextFilter label={t.route} name="route" />
          <TextFilter label={t.requestId} name="requestId" />
        </>
      }
      log={log}
      empty={
        <Empty icon="filter" title={t.none}>
          {t.noneHint}
        </Empty>
      }
      phoneRowOf={(row) => (
        <PhoneRow
          lines={[
            [open(row), <HttpStatus key="s" of={row.status} />],
            [
              row.problem?.code ?? <RecordLink key="r" of={row} />,
              <Text key="at" size="xs" c="dimmed">
                {format.dateTime(row.at)}
              </Text>,
            ],
          ]}
        />
      )}
      columns={[
        { name: t.at, cell: ({ at }) => <Text size="sm">{format.dateTime(at)}</Text> },
        { name: t.status, cell: ({ status }) => <HttpStatus of={status} /> },
        { name: t.route, cell: open },
        { name: t.error, cell: ({ problem }) => problem && <Code>{problem.code}</Code> },
        { name: t.recordColumn, cell: (row) => <RecordLink of={row} /> },
        { name: t.duration, isHiddenOnPhone: true, cell: ({ durationMs }) => format.duration(durationMs) },
      ]}
    >
      <Drawer
        opened={opened !== null}
        onClose={() => setOpened(null)}
        title={opened && `${opened.method} ${opened.route}`}
        position="right"
        size="lg"
        closeButtonProps={{ 'aria-label': t.close }}
      >
        {opened && <Details of={opened} />}
      </Drawer>
    </LogPage>
  )
}
