import { Anchor, Group } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { guiche } from '../../api.ts'
import { Status } from '../../components/status.tsx'
import { useClientLink } from '../../links.ts'
import { useRefreshEvery } from '../../live.ts'
import { useText } from '../../text.ts'
import { words } from './text.ts'

/** The current status of a transaction, and the link to its record. */
export function RecordState({ id }: { id: string }) {
  const t = useText(words)
  const toLink = useClientLink()
  const transaction = useQuery({
    queryKey: ['transaction', 'sandbox', id],
    queryFn: async () => await guiche.transactions.get(id),
    refetchInterval: useRefreshEvery(1_000),
  })
  return (
    <Group mt="xs" mih={28}>
      {transaction.data && <Status of={transaction.data.status} />}
      <Anchor component={Link} href={toLink(`/transactions/${id}`)} size="sm" underline="always">
        {t.open}
      </Anchor>
    </Group>
  )
}
