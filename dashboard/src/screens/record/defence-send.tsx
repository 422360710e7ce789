import { Button, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { request, withQuery } from '../../api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { useMutationForm } from '../../components/form.tsx'
import { IconOf } from '../../components/icons.tsx'
import { useFormat } from '../../format.ts'
import { useLanguage, useText } from '../../text.ts'
import type { DefenceView } from '../../types.ts'
import { words } from './defence-text.ts'

type Props = {
  defence: DefenceView
  /** Saves what was typed, and returns the revision that the person has read. */
  save: () => Promise<number>
  onChange: (answer: DefenceView) => Promise<void>
  onClose: () => void
}

/** The files when the dialog opened: another person may add or remove one meanwhile. */
const useShownFiles = ({ files }: DefenceView) => useState(() => files.map(({ id }) => id))[0]

/** Asks for confirmation before the defence is sent to the PSP, which accepts only one for each dispute. */
export function SendDefence({ defence, characters, save, onChange, onClose }: Props & { characters: number }) {
  const t = useText(words)
  const format = useFormat()
  const { disputeId } = defence
  const fileIds = useShownFiles(defence)
  const sending = useMutation({
    mutationFn: async () => {
      const body = { revision: await save(), fileIds }
      return await request<DefenceView>('POST', `/infraction/${disputeId}/defence/sending`, body)
    },
    onSuccess: async (answer) => {
      onClose()
      await onChange(answer)
    },
  })
  return (
    <Confirm title={t.sendTitle} isOpen onClose={onClose} confirm={t.send} action={sending}>
      <Text size="sm">{t.sendText(format.number(characters), t.fileCount(fileIds.length))}</Text>
      {fileIds.length === 0 && (
        <Text size="sm" fw={600} c="var(--mantine-color-orange-light-color)">
          {t.noFilesWarning}
        </Text>
      )}
      <Text size="sm" c="dimmed">
        {t.sendOnce}
      </Text>
    </Confirm>
  )
}

/** Records that a person gave the defence to the PSP. */
export function HandIn({ defence, save, onChange, onClose }: Props) {
  const t = useText(words)
  const fileIds = useShownFiles(defence)
  const handingIn = useMutationForm({
    initialValues: { reference: '' },
    send: async ({ reference }) => {
      const body = { revision: await save(), fileIds, reference }
      return await request<DefenceView>('POST', `/infraction/${defence.disputeId}/defence/hand-in`, body)
    },
    onSuccess: async (answer) => {
      onClose()
      await onChange(answer)
    },
  })
  return (
    <Confirm title={t.handInTitle} isOpen onClose={onClose} confirm={t.handIn} action={handingIn}>
      <Text size="sm">{t.handInText}</Text>
      <TextInput
        {...handingIn.input('reference')}
        label={t.handInReference}
        description={t.handInReferenceHint}
        maxLength={120}
        data-autofocus
      />
    </Confirm>
  )
}

/** Downloads the defence and its files as one ZIP file. */
export function PackageButton({ disputeId }: { disputeId: string }) {
  const t = useText(words)
  const { language } = useLanguage()
  return (
    <Button
      component="a"
      variant="default"
      href={withQuery(`/dashboard/api/infraction/${disputeId}/defence.zip`, { language })}
      download
      leftSection={<IconOf name="download" size={16} />}
    >
      {t.download}
    </Button>
  )
}
