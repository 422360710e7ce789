import { Button, Radio, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { request } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { useMutationForm } from '../../components/form.tsx'
import { useFormat } from '../../format.ts'
import { texts, useText } from '../../text.ts'
import type { WithdrawalView } from '../../types.ts'

const words = texts({
  en: {
    enter: 'Enter the outcome',
    title: 'Enter the outcome of this withdrawal',
    lead: (amount: string) =>
      `The PSP can no longer be queried about it. Search the account statement at the PSP for the payout of ${amount} and enter what it shows. Another person has to approve it.`,
    leadPending: (amount: string) =>
      `It may have been sent before the database lost its last changes. If the account statement at the PSP shows the payout of ${amount}, enter it here; if not, approve or reject the withdrawal. Another person has to approve what you enter.`,
    found: 'The account statement',
    sent: 'shows the payout: it was sent',
    notSent: 'does not show it: amount and fee go back to the balance',
    endToEnd: 'End-to-end id in the statement',
    reason: 'Reason',
    reasonHint: 'What you saw. If nothing was sent, the merchant will see it.',
    propose: 'Propose',
  },
  pt: {
    enter: 'Informar o resultado',
    title: 'Informar o resultado deste saque',
    lead: (amount: string) =>
      `Não é mais possível consultar este saque no PSP. Procure o envio de ${amount} no extrato da conta no PSP e informe o que encontrou. Outra pessoa precisa aprovar.`,
    leadPending: (amount: string) =>
      `Este saque pode ter sido enviado antes de o banco de dados perder as últimas alterações. Se o envio de ${amount} aparece no extrato da conta no PSP, informe aqui; se não aparece, aprove ou rejeite o saque. Outra pessoa precisa aprovar o que você informar.`,
    found: 'No extrato da conta',
    sent: 'o envio aparece: o saque foi enviado',
    notSent: 'o envio não aparece: valor e tarifa voltam ao saldo',
    endToEnd: 'End-to-end id no extrato',
    reason: 'Motivo',
    reasonHint: 'O que você viu. Se nada foi enviado, o lojista verá este motivo.',
    propose: 'Propor',
  },
})

/** The button and the form to propose the outcome of a payout that the PSP cannot be queried about. */
export function EnterOutcome({ withdrawal: { id, amount, status } }: { withdrawal: WithdrawalView }) {
  const t = useText(words)
  const format = useFormat()
  const queries = useQueryClient()
  const [isOpen, setOpen] = useState(false)
  const isPending = status === 'PENDING'
  const proposing = useMutationForm({
    initialValues: { found: (isPending ? 'sent' : null) as 'sent' | 'notSent' | null, endToEndId: '', reason: '' },
    send: async (values) =>
      await request('POST', `/withdrawal/${id}/settlement`, {
        endToEndId: values.found === 'sent' ? values.endToEndId.trim() : null,
        reason: values.reason.trim(),
      }),
    onSuccess: async () => {
      setOpen(false)
      await queries.invalidateQueries()
    },
  })
  const { found, endToEndId, reason } = proposing.values
  const isComplete = found === 'notSent' || (found === 'sent' && endToEndId.trim() !== '')
  return (
    <>
      <Button variant={isPending ? 'default' : 'filled'} onClick={() => setOpen(true)}>
        {t.enter}
      </Button>
      <Confirm
        title={t.title}
        confirm={t.propose}
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        action={proposing}
        isReady={isComplete && reason.trim().length >= 3}
      >
        <Text size="sm">{isPending ? t.leadPending(format.money(amount)) : t.lead(format.money(amount))}</Text>
        {!isPending && (
          <Radio.Group {...proposing.input('found')} label={t.found} required>
            <Stack gap="xs" mt="xs">
              <Radio value="sent" label={t.sent} />
              <Radio value="notSent" label={t.notSent} />
            </Stack>
          </Radio.Group>
        )}
        {found === 'sent' && (
          <TextInput {...proposing.input('endToEndId')} label={t.endToEnd} required maxLength={32} />
        )}
        <Textarea
          {...proposing.input('reason')}
          label={t.reason}
          description={isPending ? undefined : t.reasonHint}
          required
          maxLength={255}
        />
      </Confirm>
    </>
  )
}
