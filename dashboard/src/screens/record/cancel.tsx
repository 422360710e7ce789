import { Button, Text } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { guiche } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { useMutationForm } from '../../components/form.tsx'
import { useFormat } from '../../format.ts'
import { useClient, useMay } from '../../session.tsx'
import { texts, useText } from '../../text.ts'

const words = texts({
  en: {
    cancel: 'Cancel charge',
    title: 'Cancel this charge?',
    text: (amount: string) =>
      `The charge of ${amount} is removed at the PSP, and nobody can pay its code any more. A payment that is already on its way is still credited.`,
    final: 'This cannot be undone.',
  },
  pt: {
    cancel: 'Cancelar cobrança',
    title: 'Cancelar esta cobrança?',
    text: (amount: string) =>
      `A cobrança de ${amount} será removida no PSP, e ninguém mais poderá pagar o código. Um pagamento que já estiver a caminho ainda será creditado.`,
    final: 'Não é possível desfazer.',
  },
})

/** For an open charge, if the user has the permission. */
export function CancelButton({ id, amount }: { id: string; amount: number }) {
  const t = useText(words)
  const format = useFormat()
  const may = useMay()
  const isClientChosen = useClient() !== null
  const queries = useQueryClient()
  const [isOpen, setOpen] = useState(false)
  const canceling = useMutationForm({
    initialValues: {},
    send: async () => await guiche.transactions.cancel(id),
    onSuccess: async () => {
      setOpen(false)
      await queries.invalidateQueries()
    },
  })
  // The merchants' API needs a chosen merchant.
  if (!may('transaction.write') || !isClientChosen) return null
  return (
    <>
      <Button variant="default" onClick={() => setOpen(true)}>
        {t.cancel}
      </Button>
      <Confirm
        title={t.title}
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        confirm={t.cancel}
        isDangerous
        action={canceling}
      >
        <Text size="sm">{t.text(format.money(amount))}</Text>
        <Text size="sm">{t.final}</Text>
      </Confirm>
    </>
  )
}
