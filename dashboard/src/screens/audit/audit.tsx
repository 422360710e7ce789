import { Button, Center, Code, Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { request, withQuery } from '../../api.ts'
import { Empty } from '../../components/empty.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Page } from '../../components/page.tsx'
import { PhoneRow, RecordTable } from '../../components/record-table.tsx'
import { useFormat } from '../../format.ts'
import { texts, useText } from '../../text.ts'
import type { Actions } from '../../types.ts'

const words = texts({
  en: {
    title: 'Audit log',
    lead: 'Who did what, in the dashboard and on the command line. Entries are never changed or deleted.',
    at: 'Date',
    who: 'User',
    what: 'Action',
    details: 'Details',
    more: 'Load earlier entries',
    none: 'Actions of users appear here',
  },
  pt: {
    title: 'Auditoria',
    lead: 'Quem fez o quê, no painel e na linha de comando. Registros nunca são alterados ou apagados.',
    at: 'Data',
    who: 'Usuário',
    what: 'Ação',
    details: 'Detalhes',
    more: 'Ver anteriores',
    none: 'As ações dos usuários aparecem aqui',
  },
})

export default function Audit() {
  const t = useText(words)
  const format = useFormat()
  const log = useInfiniteQuery({
    queryKey: ['audit'],
    queryFn: async ({ pageParam }) => await request<Actions>('GET', withQuery('/audit', { before: pageParam })),
    initialPageParam: null as number | null,
    getNextPageParam: ({ next }) => next,
  })
  if (log.isError) return <ErrorNotice error={log.error} onRetry={() => void log.refetch()} />
  return (
    <Page title={t.title} lead={t.lead}>
      <RecordTable
        label={t.title}
        rows={log.data?.pages.flatMap(({ data }) => data)}
        keyOf={({ id }) => String(id)}
        empty={<Empty icon="audit" title={t.none} guide="dashboard" />}
        phoneOf={({ at, actor, action }) => (
          <PhoneRow
            lines={[
              [<Code key="what">{action}</Code>, null],
              [
                actor.replace(/^user:/, ''),
                <Text key="at" size="xs" c="dimmed">
                  {format.dateTime(at)}
                </Text>,
              ],
            ]}
          />
        )}
        columns={[
          { name: t.at, cell: ({ at }) => <Text size="sm">{format.dateTime(at)}</Text> },
          {
            name: t.who,
            cell: ({ actor }) => (
              <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
                {actor.replace(/^user:/, '')}
              </Text>
            ),
          },
          { name: t.what, cell: ({ action }) => <Code style={{ whiteSpace: 'nowrap' }}>{action}</Code> },
          {
            name: t.details,
            isMinor: true,
            cell: ({ details, recordId }) => (
              <Text size="xs" c="dimmed" className="identifier">
                {[recordId, details && JSON.stringify(details)].filter(Boolean).join(' ')}
              </Text>
            ),
          },
        ]}
      />
      {log.hasNextPage && (
        <Center>
          <Button variant="default" loading={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
            {t.more}
          </Button>
        </Center>
      )}
    </Page>
  )
}
