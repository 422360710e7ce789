import { Button, Group, Text, Textarea, type TextareaProps } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { guiche, request } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { useMutationForm } from '../../components/form.tsx'
import { ObstacleNotice } from '../../components/proposals.tsx'
import { useFormat } from '../../format.ts'
import { useClient, useMay } from '../../session.tsx'
import { useText } from '../../text.ts'
import type { WithdrawalView } from '../../types.ts'
import { PixKeyCard } from './pix-key-card.tsx'
import { ReceiverHistory, ReviewFlags } from './receiver.tsx'
import { EnterOutcome } from './settle.tsx'
import { words } from './text.ts'

type Action = 'approve' | 'reject' | 'confirm' | 'cancel'

/**
 * The decisions on a withdrawal: before it is sent the operator approves or rejects, and the merchant confirms or
 * cancels; if its outcome cannot be queried, the operator enters it.
 */
export function Decisions({ withdrawal }: { withdrawal: WithdrawalView }) {
  const t = useText(words)
  const may = useMay()
  const isClientChosen = useClient() !== null
  const [action, setAction] = useState<Action | null>(null)
  const { id, hold, mayBeSent, obstacle, status } = withdrawal
  // `obstacle`: why this user may not approve it; null if they may.
  const canDecide = may('withdrawal.approve') && obstacle === null && hold !== null
  // Cancel and confirm call the merchants' API, which needs a chosen merchant.
  const canCancel = may('withdrawal.write') && isClientChosen && !canDecide && !mayBeSent
  const outcome = withdrawal.needsOutcome && withdrawal.proposal === null && <EnterOutcome withdrawal={withdrawal} />
  if (status !== 'PENDING') return outcome
  return (
    <Group gap="xs">
      {obstacle !== null && hold === 'approval' && (
        <ObstacleNotice obstacle={obstacle} command={`withdrawal approve ${id}`} />
      )}
      {outcome}
      {canDecide && (
        <>
          <Button variant="default" onClick={() => setAction('reject')}>
            {t.reject}
          </Button>
          <Button onClick={() => setAction('approve')}>{t.approve}</Button>
        </>
      )}
      {canCancel && (
        <>
          <Button variant="default" onClick={() => setAction('cancel')}>
            {t.cancel}
          </Button>
          {hold === 'duplicate' && <Button onClick={() => setAction('confirm')}>{t.confirm}</Button>}
        </>
      )}
      {action && <Decision withdrawal={withdrawal} action={action} onClose={() => setAction(null)} />}
    </Group>
  )
}

function Decision({
  withdrawal,
  action,
  onClose,
}: {
  withdrawal: WithdrawalView
  action: Action
  onClose: () => void
}) {
  const t = useText(words)
  const format = useFormat()
  const queries = useQueryClient()
  const { id, amount, feeAmount, clientName, pixKey, earlier } = withdrawal
  const deciding = useMutationForm({
    initialValues: { reason: '' },
    send: async ({ reason }) => {
      if (action === 'approve') await request('POST', `/withdrawal/${id}/approval`)
      else if (action === 'reject') await request('POST', `/withdrawal/${id}/rejection`, { reason: reason.trim() })
      else await guiche.withdrawals[action](id)
    },
    onSuccess: async () => {
      await queries.invalidateQueries()
      onClose()
    },
  })
  const amountWithFee = format.money(amount + (feeAmount ?? 0))
  const dialogs: Record<Action, { title: string; confirm: string; isDangerous?: boolean; text: ReactNode }> = {
    approve: {
      title: t.approveTitle,
      confirm: `${t.approve} ${format.money(amount)}`,
      text: (
        <>
          <Text size="sm">{t.approveText(format.money(amount), clientName)}</Text>
          <PixKeyCard of={pixKey} />
          <ReviewFlags withdrawal={withdrawal} />
          <ReceiverHistory of={withdrawal.receiver} />
          {earlier && <Text size="sm">{t.approveDuplicate}</Text>}
          <Text size="sm">{t.approveEnd}</Text>
        </>
      ),
    },
    reject: {
      title: t.rejectTitle,
      confirm: t.reject,
      isDangerous: true,
      text: (
        <>
          <Text size="sm">{t.rejectText(amountWithFee, clientName)}</Text>
          <RejectionReason {...deciding.input('reason')} />
        </>
      ),
    },
    confirm: {
      title: t.confirmTitle,
      confirm: t.confirm,
      text: (
        <>
          <Text size="sm">{t.confirmText(format.money(amount))}</Text>
          <PixKeyCard of={pixKey} />
        </>
      ),
    },
    cancel: {
      title: t.cancelTitle,
      confirm: t.cancel,
      isDangerous: true,
      text: <Text size="sm">{t.cancelText(amountWithFee)}</Text>,
    },
  }
  const { text, ...shown } = dialogs[action]
  return (
    <Confirm
      {...shown}
      action={deciding}
      isOpen
      onClose={onClose}
      isReady={action !== 'reject' || isReason(deciding.values.reason)}
    >
      {text}
    </Confirm>
  )
}

/** Why one or several withdrawals are rejected. */
export function RejectionReason(props: TextareaProps) {
  const t = useText(words)
  return <Textarea {...props} label={t.reason} description={t.reasonHint} required maxLength={255} data-autofocus />
}

/** The service accepts a reason from 3 characters. */
export const isReason = (reason: string): boolean => reason.trim().length >= 3
