import { Badge, Button, Group, Modal, ScrollArea, Stack, Text, Textarea } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { request } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { useMutationForm } from '../../components/form.tsx'
import { useStatusName } from '../../components/status.tsx'
import { writeFieldError } from '../../field-errors.ts'
import { useFormat } from '../../format.ts'
import { useUser } from '../../session.tsx'
import { texts, useLanguage, useText } from '../../text.ts'
import type { DecisionResult, WithdrawalView } from '../../types.ts'
import { ReviewFlags } from './receiver.tsx'
import { words as withdrawalWords } from './text.ts'

const words = texts({
  en: {
    selected: (count: string) => `${count} selected`,
    clear: 'Clear selection',
    approve: (count: string, total: string) => `Approve ${count}: ${total}`,
    reject: (count: string) => `Reject ${count}`,
    approveTitle: (count: string, total: string) => `Approve ${count} withdrawals, ${total} in total`,
    approveLead: 'Each is sent within seconds. This cannot be undone.',
    rejectTitle: (count: string, total: string) => `Reject ${count} withdrawals, ${total} in total`,
    rejectLead: 'Nothing is sent. Amounts and fees go back to the balances.',
    reason: 'Reason',
    reasonHint: 'The merchants will see it.',
    result: 'Result',
    approved: (count: string, of: string) => `${count} of ${of} approved.`,
    rejected: (count: string, of: string) => `${count} of ${of} rejected.`,
    outcomes: {
      approve: 'Approved',
      reject: 'Rejected',
      needs_other_person: 'Needs another person',
      changed: (status: string) => `Changed meanwhile: ${status}`,
      not_found: 'Not found',
    },
    close: 'Close',
  },
  pt: {
    selected: (count: string) => `${count} selecionados`,
    clear: 'Limpar seleção',
    approve: (count: string, total: string) => `Aprovar ${count}: ${total}`,
    reject: (count: string) => `Rejeitar ${count}`,
    approveTitle: (count: string, total: string) => `Aprovar ${count} saques, total de ${total}`,
    approveLead: 'Cada saque é enviado em segundos. Não é possível desfazer.',
    rejectTitle: (count: string, total: string) => `Rejeitar ${count} saques, total de ${total}`,
    rejectLead: 'Nada é enviado. Valores e tarifas voltam aos saldos.',
    reason: 'Motivo',
    reasonHint: 'Os lojistas verão este motivo.',
    result: 'Resultado',
    approved: (count: string, of: string) => `${count} de ${of} aprovados.`,
    rejected: (count: string, of: string) => `${count} de ${of} rejeitados.`,
    outcomes: {
      approve: 'Aprovado',
      reject: 'Rejeitado',
      needs_other_person: 'Precisa de outra pessoa',
      changed: (status: string) => `Mudou nesse meio-tempo: ${status}`,
      not_found: 'Não encontrado',
    },
    close: 'Fechar',
  },
})

type Decision = 'approve' | 'reject'
type Done = { decision: Decision; withdrawals: WithdrawalView[]; results: DecisionResult[] }

/** The buttons that decide on the selected withdrawals together, and what became of each. */
export function BulkDecisions({ selected, onClear }: { selected: WithdrawalView[]; onClear: () => void }) {
  const t = useText(words)
  const format = useFormat()
  // What the person has seen and confirms: the list may change behind the dialog.
  const [deciding, setDeciding] = useState<Omit<Done, 'results'> | null>(null)
  const [done, setDone] = useState<Done | null>(null)
  const count = format.number(selected.length)
  const finish = (results: DecisionResult[]) => {
    if (deciding) setDone({ ...deciding, results })
    setDeciding(null)
    onClear()
  }
  return (
    <>
      {selected.length > 0 && (
        <Group className="bulk-bar" justify="space-between" gap="xs" role="group" aria-label={t.selected(count)}>
          <Group gap="xs">
            <Text size="sm" fw={600} aria-live="polite">
              {t.selected(count)}
            </Text>
            <Button variant="subtle" size="compact-sm" onClick={onClear}>
              {t.clear}
            </Button>
          </Group>
          <Group gap="xs">
            <Button variant="default" onClick={() => setDeciding({ decision: 'reject', withdrawals: selected })}>
              {t.reject(count)}
            </Button>
            <Button onClick={() => setDeciding({ decision: 'approve', withdrawals: selected })}>
              {t.approve(count, format.money(sumOf(selected)))}
            </Button>
          </Group>
        </Group>
      )}
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
      isReady={isApproval || deciding.values.reason.trim().length >= 3}
    >
      <Text size="sm">{isApproval ? t.approveLead : t.rejectLead}</Text>
      <ScrollArea.Autosize mah={320} type="auto" viewportProps={{ tabIndex: 0 }}>
        <Stack gap={0} component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
          {selected.map((withdrawal) => (
            <li key={withdrawal.id} className="row" style={{ padding: '8px 0' }}>
              <Summary withdrawal={withdrawal} />
              <ReviewFlags withdrawal={withdrawal} />
            </li>
          ))}
        </Stack>
      </ScrollArea.Autosize>
      {!isApproval && (
        <Textarea
          {...deciding.input('reason')}
          label={t.reason}
          description={t.reasonHint}
          required
          maxLength={255}
          data-autofocus
        />
      )}
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
  const common = useText(withdrawalWords)
  const format = useFormat()
  const count = results.filter(({ outcome }) => outcome === 'done').length
  const sentence = decision === 'approve' ? t.approved : t.rejected
  return (
    <Modal opened onClose={onClose} title={t.result} closeButtonProps={{ 'aria-label': common.close }} centered>
      <Stack>
        <Text size="sm" fw={600} role="status">
          {sentence(format.number(count), format.number(results.length))}
        </Text>
        <Stack gap={0} component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
          {results.map((result) => {
            const withdrawal = withdrawals.find(({ id }) => id === result.id)
            return (
              <li key={result.id} className="row" style={{ padding: '8px 0' }}>
                {withdrawal && <Summary withdrawal={withdrawal} />}
                <Outcome result={result} decision={decision} />
              </li>
            )
          })}
        </Stack>
        <Group justify="flex-end">
          <Button onClick={onClose}>{t.close}</Button>
        </Group>
      </Stack>
    </Modal>
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
