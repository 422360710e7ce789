import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { request, withQuery } from '../../api.ts'
import { DaysSection } from '../../components/days-section.tsx'
import { ErrorNotice } from '../../components/error-notice.tsx'
import { Plot } from '../../components/plot.tsx'
import { useFormat } from '../../format.ts'
import { useText } from '../../text.ts'
import type { DayBalances } from '../../types.ts'
import { useAccountNames, words } from './text.ts'

/** The balances of a past day do not change, and today's are above the chart. */
const staleMs = 60_000

/** The available balance at the end of each day. */
export function BalanceChart({ client }: { client: string }) {
  const t = useText(words)
  const [days, setDays] = useState('30')
  const history = useQuery({
    queryKey: ['balance-history', client, days],
    queryFn: async () =>
      (await request<{ data: DayBalances[] }>('GET', withQuery('/balance-history', { clientId: client, days }))).data,
    staleTime: staleMs,
    placeholderData: (before) => before,
  })
  return (
    <DaysSection title={t.history} choices={['30', '90', '365']} days={days} onChoose={setDays}>
      {history.isError && <ErrorNotice error={history.error} onRetry={() => void history.refetch()} />}
      {history.data ? <Chart of={history.data} /> : <Skeleton height={220} />}
    </DaysSection>
  )
}

function Chart({ of: days }: { of: DayBalances[] }) {
  const t = useText(words)
  const format = useFormat()
  const nameOf = useAccountNames()
  const names = useMemo(() => days.map(({ day }) => format.day(day)), [days, format])
  const series = useMemo(
    () => [
      {
        label: nameOf.available[0],
        values: days.map(({ available }) => available),
        color: '#179d88',
        kind: 'line' as const,
      },
    ],
    [days, nameOf],
  )
  return (
    <Plot
      names={names}
      series={series}
      format={format.money}
      formatAxis={format.shortMoney}
      label={`${t.history}: ${nameOf.available[0]}`}
    />
  )
}
