import { Badge, Button, Group, ScrollArea, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { request } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { useMutationForm } from '../../components/form.tsx'
import { ResultDialog, SelectedList, SelectedSums, type Selection, SelectionBar } from '../../components/selection.tsx'
import { useStatusName } from '../../components/status.tsx'
import { writeFieldError } from '../../field-errors.ts'
import { useFormat } from '../../format.ts'
import { useUser } from '../../session.tsx'
import { counted, texts, useLanguage, useText } from '../../text.ts'
import type { DecisionResult, WithdrawalView } from '../../types.ts'
import { isReason, RejectionReason } from './decide.tsx'
import { ReviewFlags } from './receiver.tsx'

const words = texts({
  en: {
    approve: (count: string, total: string) => `Approve ${count}: ${total}`,
    reject: (count: string) => `Reject ${count}`,
    approveTitle: (count: string, total: string) =>
      `Approve ${counted(count, 'withdrawal', 'withdrawals')}, ${total} in total`,
    approveLead: 'Each is sent within seconds. This cannot be undone.',
    rejectTitle: (count: string, total: string) =>
      `Reject ${counted(count, 'withdrawal', 'withdrawals')}, ${total} in total`,
    rejectLead: 'Nothing is sent. Amounts and fees go back to the balances.',
    approved: (count: string, of: string) => `${count} of ${of} approved.`,
    rejected: (count: string, of: string) => `${count} of ${of} rejected.`,
    outcomes: {
      approve: 'Approved',
      reject: 'Rejected',
      needs_other_person: 'Needs another person',
      changed: (status: string) => `Changed meanwhile: ${status}`,
      not_found: 'Not found',
    },
  },
  pt: {
    approve: (count: string, total: string) => `Aprovar ${count}: ${total}`,
    reject: (count: string) => `Rejeitar ${count}`,
    approveTitle: (count: string, total: string) => `Aprovar ${counted(count, 'saque', 'saques')}, total de ${total}`,
    approveLead: 'Cada saque é enviado em segundos. Não é possível desfazer.',
    rejectTitle: (count: string, total: string) => `Rejeitar ${counted(count, 'saque', 'saques')}, total de ${total}`,
    rejectLead: 'Nada é enviado. Valores e tarifas voltam aos saldos.',
    approved: (count: string, of: string) => `${count} de ${of} aprovados.`,
    rejected: (count: string, of: string) => `${count} de ${of} rejeitados.`,
    outcomes: {
      approve: 'Aprovado',
      reject: 'Rejeitado',
      needs_other_person: 'Precisa de outra pessoa',
      changed: (status: string) => `Mudou nesse meio-tempo: ${status}`,
      not_found: 'Não encontrado',
    },
  },
})

type Decision = 'approve' | 'reject'
type Done = { decision: Decision; withdrawals: WithdrawalView[]; results: DecisionResult[] }

/** The buttons that decide on the selected withdrawals together, and the outcome of each. */
export function BulkDecisions({ selection }: { selection: Selection<WithdrawalView> }) {
  const t = useText(words)
  const format = useFormat()
  // What the person has seen and confirms: the list may change behind the dialog.
  const [deciding, setDeciding] = useState<Omit<Done, 'results'> | null>(null)
  const [done, setDone] = useState<Done | null>(null)
  const { selected, choose } = selection
  const count = format.number(selected.length)
  const finish = (results: DecisionResult[]) => {
    if (deciding) setDone({ ...deciding, results })
    setDeciding(null)
    choose([])
  }
  return (
    <>
      <SelectionBar of={selection}>
        <Button variant="default" onClick={() => setDeciding({ decision: 'reject', withdrawals: selected })}>
          {t.reject(count)}
        </Button>
        <Button onClick={() => setDeciding({ decision: 'approve', withdrawals: selected })}>
          {t.approve(count, format.money(sumOf(selected)))}
        </Button>
      </SelectionBar>
      {deciding && (
        <Decide
          decision={deciding.decision}
          selected={deciding.withdrawals}
          onClose={() => setDeciding(null)}
          onDone={finish}
        />
      )}
      {done && <Results done={done} onClose={() => setDone(null)} />}
    </>
  )
}

const sumOf = (withdrawals: WithdrawalView[]) => withdrawals.reduce((total, { amount }) => total + amount, 0)

function Decide({
  decision,
  selected,
  onClose,
  onDone,
}: {
  decision: Decision
  selected: WithdrawalView[]
  onClose: () => void
  onDone: (results: DecisionResult[]) => void
}) {
  const t = useText(words)
  const format = useFormat()
  const queries = useQueryClient()
  const isApproval = decision === 'approve'
  const count = format.number(selected.length)
  const total = format.money(sumOf(selected))
  const deciding = useMutationForm({
    initialValues: { reason: '' },
    send: async ({ reason }) => {
      const ids = selected.map(({ id }) => id)
      const body = isApproval ? { ids } : { ids, reason: reason.trim() }
      return await request<{ data: DecisionResult[] }>(
        'POST',
        `/withdrawal/${isApproval ? 'approval' : 'rejection'}`,
        body,
      )
    },
    onSuccess: async ({ data }) => {
      onDone(data)
      await queries.invalidateQueries()
    },
  })
  return (
    <Confirm
      title={(isApproval ? t.approveTitle : t.rejectTitle)(count, total)}
      confirm={isApproval ? t.approve(count, total) : t.reject(count)}
      isDangerous={!isApproval}
      isOpen
      onClose={onClose}
      action={deciding}
      isReady={isApproval || isReason(deciding.values.reason)}
    >
      <Text size="sm">{isApproval ? t.approveLead : t.rejectLead}</Text>
      <ScrollArea.Autosize mah={320} type="auto" viewportProps={{ tabIndex: 0 }}>
        <SelectedList
          rows={selected.map((withdrawal) => ({
            key: withdrawal.id,
            content: (
              <>
                <Summary withdrawal={withdrawal} />
                <ReviewFlags withdrawal={withdrawal} />
              </>
            ),
          }))}
        />
      </ScrollArea.Autosize>
      <SelectedSums
        amount={sumOf(selected)}
        fee={selected.reduce((total, { feeAmount }) => total + (feeAmount ?? 0), 0)}
      />
      {!isApproval && <RejectionReason {...deciding.input('reason')} />}
    </Confirm>
  )
}

function Summary({ withdrawal: { amount, pixKey, receiver, clientName } }: { withdrawal: WithdrawalView }) {
  const format = useFormat()
  const { merchant } = useUser()
  return (
    <Group justify="space-between" wrap="nowrap" align="flex-start" gap="sm">
      <Text size="sm" style={{ minWidth: 0, overflowWrap: 'anywhere' }}>
        {receiver.name && <b>{receiver.name} </b>}
        {pixKey.key}
        {!merchant && (
          <Text span size="xs" c="dimmed">
            {' '}
            · {clientName}
          </Text>
        )}
      </Text>
      <Text size="sm" fw={600} style={{ whiteSpace: 'nowrap' }}>
        {format.money(amount)}
      </Text>
    </Group>
  )
}

function Results({ done: { decision, withdrawals, results }, onClose }: { done: Done; onClose: () => void }) {
  const t = useText(words)
  const format = useFormat()
  const count = results.filter(({ outcome }) => outcome === 'done').length
  const sentence = decision === 'approve' ? t.approved : t.rejected
  return (
    <ResultDialog sentence={sentence(format.number(count), format.number(results.length))} onClose={onClose}>
      <SelectedList
        rows={results.map((result) => {
          const withdrawal = withdrawals.find(({ id }) => id === result.id)
          return {
            key: result.id,
            content: (
              <>
                {withdrawal && <Summary withdrawal={withdrawal} />}
                <Outcome result={result} decision={decision} />
              </>
            ),
          }
        })}
      />
    </ResultDialog>
  )
}

function Outcome({ result: { outcome, code, status }, decision }: { result: DecisionResult; decision: Decision }) {
  const t = useText(words)
  const nameOf = useStatusName()
  const { language } = useLanguage()
  const label =
    outcome === 'done'
      ? t.outcomes[decision]
      : outcome === 'changed'
        ? t.outcomes.changed(status === null ? '' : nameOf(status))
        : t.outcomes[outcome]
  return (
    <>
      <Badge variant="light" color={outcome === 'done' ? 'teal' : 'orange'} tt="none" radius="sm">
        {label}
      </Badge>
      {outcome === 'needs_other_person' && code && (
        <Text size="xs" c="dimmed">
          {writeFieldError({ field: 'approval', code }, language)}
        </Text>
      )}
    </>
  )
}
