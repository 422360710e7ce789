import { Alert, Button, Card, Group, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { request } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { ActionForm, useMutationForm } from '../../components/form.tsx'
import { Page } from '../../components/page.tsx'
import { texts, useText } from '../../text.ts'
import type { ErasedPerson } from '../../types.ts'

const words = texts({
  en: {
    title: 'Personal data',
    lead: 'Data stored about a person across all merchants. A person can request a copy or erasure (LGPD, art. 18).',
    document: 'CPF or CNPJ',
    export: 'Download a copy',
    exported: 'Copy downloaded. The access is recorded in the audit log.',
    erase: 'Erase',
    eraseTitle: 'Erase this person’s data?',
    eraseLead:
      'Name, e-mail, phones, address, account, description, metadata and returnUrl, and defences with their files, are erased. The document and Pix keys are replaced by a hash. Amounts, ids and the ledger stay. This cannot be undone.',
    confirm: 'Type the document again',
    erased: (transactions: number, withdrawals: number) =>
      `Data erased. Transactions: ${transactions}, withdrawals: ${withdrawals}.`,
    notReached: 'Backups, the PSP and the copies that merchants received are not changed.',
  },
  pt: {
    title: 'Dados pessoais',
    lead: 'Dados guardados sobre uma pessoa em todos os lojistas. Ela pode pedir uma cópia ou a eliminação (LGPD, art. 18).',
    document: 'CPF ou CNPJ',
    export: 'Baixar cópia',
    exported: 'Cópia baixada. O acesso ficou registrado na auditoria.',
    erase: 'Eliminar',
    eraseTitle: 'Eliminar os dados desta pessoa?',
    eraseLead:
      'Nome, e-mail, telefones, endereço, conta, descrição, metadados e returnUrl são apagados, assim como as defesas e os seus arquivos. O documento e as chaves Pix viram um hash. Valores, ids e o razão continuam. Não é possível desfazer.',
    confirm: 'Digite o documento de novo',
    erased: (transactions: number, withdrawals: number) =>
      `Dados eliminados. Transações: ${transactions}, saques: ${withdrawals}.`,
    notReached: 'Backups, o PSP e as cópias que os lojistas receberam não são alterados.',
  },
})

export default function PersonalData() {
  const t = useText(words)
  const [isConfirming, setConfirming] = useState(false)
  const copy = useMutationForm({
    initialValues: { document: '' },
    send: async (values) => save(await request<object>('POST', '/person/export', { document: values.document.trim() })),
  })
  const document = copy.values.document.trim()
  const close = () => {
    setConfirming(false)
    erasure.clear()
  }
  const erasure = useMutationForm({
    initialValues: { confirm: '' },
    send: async ({ confirm }) =>
      await request<ErasedPerson>('POST', '/person/erasure', { document, confirm: confirm.trim() }),
    onSuccess: close,
  })
  const documentInput = copy.input('document')
  return (
    <Page title={t.title} lead={t.lead}>
      <Card withBorder maw={640}>
        <ActionForm
          action={copy}
          isReady={document !== ''}
          buttons={
            <Group>
              <Button type="submit" disabled={document === ''} loading={copy.isPending}>
                {t.export}
              </Button>
              <Button variant="default" color="red" disabled={document === ''} onClick={() => setConfirming(true)}>
                {t.erase}
              </Button>
            </Group>
          }
        >
          <TextInput
            {...documentInput}
            label={t.document}
            autoComplete="off"
            onChange={(event) => {
              documentInput.onChange(event)
              copy.reset()
              erasure.reset()
            }}
          />
          {copy.isSuccess && <Alert color="teal">{t.exported}</Alert>}
          {erasure.data && (
            <Alert color="teal" role="status">
              {t.erased(erasure.data.transactions, erasure.data.withdrawals)} {t.notReached}
            </Alert>
          )}
        </ActionForm>
      </Card>
      <Confirm
        title={t.eraseTitle}
        isOpen={isConfirming}
        onClose={close}
        confirm={t.erase}
        isDangerous
        action={erasure}
        isReady={erasure.values.confirm.trim() === document}
      >
        <Text size="sm">{t.eraseLead}</Text>
        <TextInput {...erasure.input('confirm')} label={t.confirm} autoComplete="off" />
      </Confirm>
    </Page>
  )
}

/** Saves the data as a file on the user's computer. */
function save(data: object): void {
  const link = window.document.createElement('a')
  link.href = URL.createObjectURL(new Blob([JSON.stringify(data, null, 2)], { type: 'application/json' }))
  link.download = 'personal-data.json'
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}
