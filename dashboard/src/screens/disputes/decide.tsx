import { Button, Menu, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { request } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { useFormat } from '../../format.ts'
import { useText } from '../../text.ts'
import type { ListedDispute } from '../../types.ts'
import { words } from './text.ts'

type Decision = 'accept' | 'reject'

/** Records in the ledger what the banks have decided. */
export function DecideButton({ dispute }: { dispute: ListedDispute }) {
  const t = useText(words)
  const format = useFormat()
  const [decision, setDecision] = useState<Decision | null>(null)
  return (
    <>
      <Menu position="bottom-end" withinPortal withInitialFocusPlaceholder={false}>
        <Menu.Target>
          <Button variant="default" size="xs" aria-label={t.decideOf(format.money(dispute.amount))}>
            {t.decide}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => setDecision('reject')}>{t.reject}</Menu.Item>
          {dispute.state === 'open' && <Menu.Item onClick={() => setDecision('accept')}>{t.accept}</Menu.Item>}
        </Menu.Dropdown>
      </Menu>
      {decision && <Decide dispute={dispute} decision={decision} onClose={() => setDecision(null)} />}
    </>
  )
}

function Decide({
  dispute: { id, transactionId, amount, blocked, clientName },
  decision,
  onClose,
}: {
  dispute: ListedDispute
  decision: Decision
  onClose: () => void
}) {
  const t = useText(words)
  const format = useFormat()
  const queries = useQueryClient()
  const deciding = useMutation({
    mutationFn: async () => await request('POST', `/infraction/${id}/decision`, { transactionId, decision }),
    onSuccess: async () => {
      await queries.invalidateQueries()
      onClose()
    },
  })
  const isAccepted = decision === 'accept'
  return (
    <Confirm
      title={isAccepted ? t.acceptTitle : t.rejectTitle}
      isOpen
      onClose={onClose}
      confirm={isAccepted ? t.accept : t.reject}
      isDangerous
      action={deciding}
    >
      <Text size="sm">
        {isAccepted ? t.acceptText(format.money(amount), clientName) : t.rejectText(format.money(blocked), clientName)}
      </Text>
      <Text size="sm" c="dimmed">
        {t.atBank}
      </Text>
    </Confirm>
  )
}
