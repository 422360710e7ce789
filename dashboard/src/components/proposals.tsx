import { Anchor, Button, Group, Stack, Text } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { lazy, Suspense, useState } from 'react'
import { Link } from 'wouter'
import { request } from '../api.ts'
import { writeFieldError } from '../field-errors.ts'
import { useFormat } from '../format.ts'
import { useRefreshEvery } from '../live.ts'
import { words as ledgerWords } from '../screens/ledger/text.ts'
import { useMay } from '../session.tsx'
import { texts, useActorName, useLanguage, useText } from '../text.ts'
import type { Account, ProposalView } from '../types.ts'
import { Section } from './page.tsx'

/** Loaded on demand: the first screen lists proposals, but on few visits is one decided. */
const Confirm = lazy(async () => ({ default: (await import('./confirm.tsx')).Confirm }))

export const words = texts({
  en: {
    title: 'Waiting for a second person',
    names: {
      'withdrawal.limits': 'New withdrawal limits',
      'suspense.match': 'Attribution of a payment',
      'entry.manual': 'Manual ledger entry',
      'withdrawal.settle': 'Outcome of a withdrawal',
      'entry.pay_in': 'Pay-in',
      'entry.write_off': 'Write-off of a debt',
      'entry.move_out': 'Balance moved to another installation (cell)',
      'entry.move_in': 'Balance moved from another installation (cell)',
    } as Record<string, string>,
    for: (merchant: string) => `for ${merchant}`,
    by: (who: string, when: string) => `Proposed by ${who}, ${when}`,
    approve: 'Approve',
    reject: 'Reject',
    withdraw: 'Withdraw proposal',
    approveTitle: 'Approve this proposal?',
    approveLead: 'It takes effect immediately, under your name as well.',
    rejectTitle: 'Reject this proposal?',
    rejectLead: 'Nothing changes. It can be proposed again.',
    commandLine: 'Is there no other person? Run on the server:',
    payment: 'the payment',
    transaction: 'the transaction',
    fields: {
      perWithdrawal: 'Per withdrawal',
      perDay: 'Per day, 06:00 to 20:00',
      perNight: 'Per night, 20:00 to 06:00',
      approvalAbove: 'Approval required above',
      operatorApprovalAbove: 'Approval required above, if requested by the operator',
      duplicateWindowSeconds: 'Duplicate window',
      amount: 'Amount',
      transactionId: 'Transaction',
      acquirer: 'PSP',
      debit: 'From account',
      credit: 'To account',
      description: 'Reason',
      otherCell: 'Other cell',
      otherClientId: 'Client in the other cell',
      reference: 'Reference at the PSP',
      endToEndId: 'End-to-end id of the payout',
      reason: 'Reason',
    } as Record<string, string>,
    notSent: 'none (not sent; the money is released)',
    withdrawal: 'the withdrawal',
    none: 'no limit',
    never: 'never',
    seconds: (count: string) => `${count} s`,
  },
  pt: {
    title: 'Aguardando uma segunda pessoa',
    names: {
      'withdrawal.limits': 'Novos limites de saque',
      'suspense.match': 'Conciliação de um pagamento',
      'entry.manual': 'Lançamento manual',
      'withdrawal.settle': 'Resultado de um saque',
      'entry.pay_in': 'Aporte',
      'entry.write_off': 'Perdão de dívida',
      'entry.move_out': 'Saldo que vai para outra instalação (célula)',
      'entry.move_in': 'Saldo que vem de outra instalação (célula)',
    },
    for: (merchant: string) => `de ${merchant}`,
    by: (who: string, when: string) => `Proposto por ${who}, ${when}`,
    approve: 'Aprovar',
    reject: 'Rejeitar',
    withdraw: 'Retirar proposta',
    approveTitle: 'Aprovar esta proposta?',
    approveLead: 'Ela passa a valer na hora, também em seu nome.',
    rejectTitle: 'Rejeitar esta proposta?',
    rejectLead: 'Nada muda. Ela pode ser proposta de novo.',
    commandLine: 'Não há outra pessoa? Execute no servidor:',
    payment: 'o pagamento',
    transaction: 'a transação',
    fields: {
      perWithdrawal: 'Por saque',
      perDay: 'Por dia, das 6h às 20h',
      perNight: 'Por noite, das 20h às 6h',
      approvalAbove: 'Exige aprovação acima de',
      operatorApprovalAbove: 'Exige aprovação acima de, se pedido pelo operador',
      duplicateWindowSeconds: 'Janela de duplicidade',
      amount: 'Valor',
      transactionId: 'Transação',
      acquirer: 'PSP',
      debit: 'Da conta',
      credit: 'Para a conta',
      otherCell: 'Outra célula',
      otherClientId: 'Credencial lá',
      description: 'Motivo',
      reference: 'Referência no PSP',
      endToEndId: 'End-to-end id do saque',
      reason: 'Motivo',
    },
    notSent: 'nenhum: não foi enviado, e o valor é liberado',
    withdrawal: 'o saque',
    none: 'sem limite',
    never: 'nunca',
    seconds: (count: string) => `${count} s`,
  },
})

/**
 * Lists the open proposals that this user may decide on, the longest waiting first, 100 at most. Shows nothing if there
 * is none.
 *
 * @param kindPrefix only proposals whose kind begins with this text
 */
export function WaitingProposals({ kindPrefix = '' }: { kindPrefix?: string }) {
  const t = useText(words)
  const may = useMay()
  const proposals = useQuery({
    queryKey: ['proposals'],
    queryFn: async () => (await request<{ data: ProposalView[] }>('GET', '/proposal')).data,
    refetchInterval: useRefreshEvery(15_000),
    enabled: may('withdrawal.approve'),
  })
  const shown = proposals.data?.filter(({ kind }) => kind.startsWith(kindPrefix)) ?? []
  if (shown.length === 0) return null
  return (
    <Section title={t.title}>
      <Stack gap={0}>
        {shown.map((proposal) => (
          <Proposal key={proposal.id} proposal={proposal} />
        ))}
      </Stack>
    </Section>
  )
}

/** One proposal: its content, who proposed it and when, and the buttons to decide. */
export function Proposal({ proposal }: { proposal: ProposalView }) {
  const t = useText(words)
  const nameOf = useActorName()
  const format = useFormat()
  const { kind, clientName, proposedBy, proposedAt, obstacle, isOwn } = proposal
  const [decision, setDecision] = useState<'approval' | 'rejection' | null>(null)
  return (
    <Group className="row" py="sm" justify="space-between" align="center" gap="sm" component="article">
      <div style={{ flex: '1 1 280px', minWidth: 0 }}>
        <Text size="sm" fw={650}>
          {t.names[kind] ?? kind} {clientName && t.for(clientName)}
        </Text>
        <Content of={proposal} />
        <Text size="xs" c="dimmed">
          {t.by(nameOf(proposedBy), format.dateTime(proposedAt))}
        </Text>
        {obstacle && <ObstacleNotice obstacle={obstacle} command={`proposal approve ${proposal.id}`} />}
      </div>
      <Group gap="xs">
        <Button variant="default" onClick={() => setDecision('rejection')}>
          {isOwn ? t.withdraw : t.reject}
        </Button>
        {obstacle === null && <Button onClick={() => setDecision('approval')}>{t.approve}</Button>}
      </Group>
      {decision && <Decision proposal={proposal} decision={decision} onClose={() => setDecision(null)} />}
    </Group>
  )
}

/** Why this user cannot approve, and the command to run on the server if there is no other person. */
export function ObstacleNotice({ obstacle, command }: { obstacle: string; command: string }) {
  const t = useText(words)
  const { language } = useLanguage()
  return (
    <Text size="xs" c="dimmed" mt={2} style={{ overflowWrap: 'anywhere' }}>
      {writeFieldError({ field: 'approval', code: obstacle }, language)} {t.commandLine}{' '}
      <code>npx guiche {command}</code>
    </Text>
  )
}

function Content({ of: { kind, content, recordId, clientId } }: { of: ProposalView }) {
  const t = useText(words)
  const ledger = useText(ledgerWords)
  const format = useFormat()
  const show = (name: string, value: unknown) => {
    if (value === null && name === 'endToEndId') return t.notSent
    const isApproval = name === 'approvalAbove' || name === 'operatorApprovalAbove'
    if (value === null) return isApproval ? t.never : t.none
    if (name === 'duplicateWindowSeconds') return t.seconds(format.number(Number(value)))
    if (typeof value === 'number') return format.money(value)
    if (name === 'debit' || name === 'credit') return ledger.accountNames[value as Account]?.[0] ?? String(value)
    return String(value)
  }
  const isAttribution = kind === 'suspense.match'
  return (
    <>
      {Object.entries(content)
        .filter(([name, value]) => (!isAttribution || name === 'amount') && !(name === 'reference' && value === null))
        .map(([name, value]) => (
          <Text key={name} size="sm" style={{ overflowWrap: 'anywhere' }}>
            {t.fields[name] ?? name}: <b>{show(name, value)}</b>
          </Text>
        ))}
      {kind === 'withdrawal.settle' && (
        <Anchor
          component={Link}
          size="sm"
          href={`/withdrawals/${recordId}${clientId === null ? '' : `?${new URLSearchParams({ client: clientId })}`}`}
        >
          {t.withdrawal}
        </Anchor>
      )}
      {isAttribution && (
        <Text size="sm">
          <Anchor component={Link} href={`/reconciliation/suspense/${recordId}`}>
            {t.payment}
          </Anchor>
          {' → '}
          <Anchor
            component={Link}
            href={`/transactions/${String(content.transactionId)}${clientId === null ? '' : `?${new URLSearchParams({ client: clientId })}`}`}
          >
            {t.transaction}
          </Anchor>
        </Text>
      )}
    </>
  )
}

function Decision({
  proposal,
  decision,
  onClose,
}: {
  proposal: ProposalView
  decision: 'approval' | 'rejection'
  onClose: () => void
}) {
  const t = useText(words)
  const queries = useQueryClient()
  const deciding = useMutation({
    mutationFn: async () => await request('POST', `/proposal/${proposal.id}/${decision}`),
    onSuccess: async () => {
      onClose()
      await queries.invalidateQueries()
    },
  })
  const isApproval = decision === 'approval'
  return (
    <Suspense>
      <Confirm
        title={isApproval ? t.approveTitle : t.rejectTitle}
        isOpen
        onClose={onClose}
        confirm={isApproval ? t.approve : proposal.isOwn ? t.withdraw : t.reject}
        isDangerous={!isApproval}
        action={deciding}
      >
        <Text size="sm" fw={650}>
          {t.names[proposal.kind] ?? proposal.kind} {proposal.clientName && t.for(proposal.clientName)}
        </Text>
        <Stack gap={4}>
          <Content of={proposal} />
        </Stack>
        <Text size="sm">{isApproval ? t.approveLead : t.rejectLead}</Text>
      </Confirm>
    </Suspense>
  )
}
