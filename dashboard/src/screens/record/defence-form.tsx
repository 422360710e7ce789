import { Alert, Button, Group, Select, SimpleGrid, Text, Textarea, TextInput } from '@mantine/core'
import { type MouseEvent, useEffect, useState } from 'react'
import { request } from '../../api.ts'
import { DayInput } from '../../components/day-input.tsx'
import { ActionForm, useMutationForm } from '../../components/form.tsx'
import { LeaveWarning } from '../../components/leave-warning.tsx'
import { todayInBrasilia } from '../../days.ts'
import { useFormat } from '../../format.ts'
import { useText } from '../../text.ts'
import type { DefenceView, Delivery } from '../../types.ts'
import { DefenceFiles } from './defence-files.tsx'
import { HandIn, PackageButton, SendDefence } from './defence-send.tsx'
import { words } from './defence-text.ts'

type Values = { text: string; delivery: Delivery }
/** A stored version of the defence. */
type Version = { revision: number; values: Values }

const noProofOfDelivery: Delivery = {
  kind: null,
  carrier: '',
  trackingCode: '',
  deliveredOn: '',
  receivedBy: '',
  invoice: '',
}
const kinds = ['goods', 'digital', 'service'] as const
const isSame = (one: Values, other: Values) =>
  one.text === other.text && fields.every((field) => one.delivery[field] === other.delivery[field])
const fields = Object.keys(noProofOfDelivery) as (keyof Delivery)[]

function toVersion({ written }: DefenceView): Version {
  const { revision = 0, text = '', delivery = noProofOfDelivery } = written ?? {}
  return { revision, values: { text, delivery } }
}

/** The defence while it can be changed: its text, the delivery, its files, and what to do with it. */
export function DefenceForm({
  defence,
  onChange,
}: {
  defence: DefenceView
  onChange: (answer: DefenceView) => Promise<void>
}) {
  const t = useText(words)
  const format = useFormat()
  const [dialog, setDialog] = useState<'send' | 'hand-in' | null>(null)
  const [isUploading, setUploading] = useState(false)
  const { form, save, isDirty, isBehind, loadStored } = useDefenceForm(defence, onChange, dialog !== null)
  const { disputeId, canSend, limits, files, written } = defence
  const { text } = form.values
  const isTooLong = text.length > limits.text
  const hasText = text.trim() !== ''
  const isReady = !isTooLong && !isBehind && !isUploading && !form.isPending
  const hint = isUploading ? t.waitForFiles : canSend && !hasText ? t.needsText : isDirty ? t.unsaved : null
  const close = () => setDialog(null)
  // An invalid date in its field would be left out of what is sent.
  const openDialog = (name: 'send' | 'hand-in') => (event: MouseEvent<HTMLButtonElement>) => {
    if (event.currentTarget.form?.reportValidity() !== false) setDialog(name)
  }
  return (
    <>
      <ActionForm
        action={form}
        isReady={isDirty && !isTooLong && !isBehind}
        buttons={
          <div>
            {hint && (
              <Text size="xs" c="dimmed" mb={6} role="status">
                {hint}
              </Text>
            )}
            <Group gap="xs">
              <Button
                type="submit"
                variant="default"
                loading={form.isPending}
                disabled={!isDirty || isTooLong || isBehind}
              >
                {t.save}
              </Button>
              {canSend && (
                <Button disabled={!isReady || !hasText} onClick={openDialog('send')}>
                  {t.send}
                </Button>
              )}
              {(written || files.length > 0) && <PackageButton disputeId={disputeId} />}
              {(!canSend || written?.state === 'refused') && (
                <Button variant="default" disabled={!isReady} onClick={openDialog('hand-in')}>
                  {t.handIn}
                </Button>
              )}
            </Group>
          </div>
        }
      >
        <Text size="sm" c="dimmed">
          {canSend ? t.lead : `${t.lead} ${t.byHand}`}
        </Text>
        <div>
          <Textarea {...form.input('text')} label={t.text} description={t.textHint} autosize minRows={5} maxRows={16} />
          <Text
            size="xs"
            ta="right"
            mt={2}
            c={isTooLong ? 'var(--mantine-color-red-light-color)' : 'dimmed'}
            {...(isTooLong && { fw: 600, role: 'alert' })}
          >
            {t.count(format.number(text.length), format.number(limits.text))}
          </Text>
        </div>
        <DeliveryFields form={form} />
        <DefenceFiles defence={defence} isEditable onChange={onChange} onBusy={setUploading} />
        {isBehind && (
          <Alert color="orange" role="alert">
            <Text size="sm">{t.changedByOther}</Text>
            <Button size="xs" mt="xs" variant="default" onClick={loadStored}>
              {t.loadStored}
            </Button>
          </Alert>
        )}
      </ActionForm>
      {isDirty && <LeaveWarning />}
      {dialog === 'send' && (
        <SendDefence
          defence={defence}
          characters={text.trim().length}
          save={save}
          onChange={onChange}
          onClose={close}
        />
      )}
      {dialog === 'hand-in' && <HandIn defence={defence} save={save} onChange={onChange} onClose={close} />}
    </>
  )
}

/**
 * The typed values, and the stored version that the user has read. If another person saves meanwhile, neither text is
 * lost. While a dialog is open, no newer version is loaded, so that only what the user has read is sent.
 */
function useDefenceForm(defence: DefenceView, onChange: (answer: DefenceView) => Promise<void>, isDialogOpen: boolean) {
  const stored = toVersion(defence)
  const [read, setRead] = useState(stored)
  const store = async (values: Values) => {
    const body = { ...values, revision: read.revision }
    const answer = await request<DefenceView>('PUT', `/infraction/${defence.disputeId}/defence`, body)
    setRead({ revision: toVersion(answer).revision, values })
    await onChange(answer)
    return toVersion(answer).revision
  }
  const form = useMutationForm({ initialValues: read.values, send: store })
  const isDirty = !isSame(form.values, read.values)
  const isBehind = stored.revision > read.revision && !form.isPending
  const loadStored = () => {
    setRead(stored)
    form.setValues(stored.values)
  }
  useEffect(() => {
    if (isBehind && !isDirty && !isDialogOpen) loadStored()
  })
  return {
    form,
    isDirty,
    isBehind: isBehind && isDirty,
    loadStored,
    save: async () => (isDirty ? await store(form.values) : read.revision),
  }
}

function DeliveryFields({ form }: { form: ReturnType<typeof useDefenceForm>['form'] }) {
  const t = useText(words)
  const { kind, carrier, trackingCode } = form.values.delivery
  const isShipped = kind === null || kind === 'goods' || carrier !== '' || trackingCode !== ''
  return (
    <fieldset style={{ border: 0, margin: 0, padding: 0, minWidth: 0 }}>
      <Text component="legend" size="sm" fw={600} mb={4} p={0}>
        {t.delivery}
      </Text>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="sm" verticalSpacing="sm">
        <Select
          {...form.input('delivery.kind')}
          label={t.kind}
          placeholder={t.chooseKind}
          clearable
          data={kinds.map((value) => ({ value, label: t.kinds[value] }))}
        />
        <DayInput
          {...form.input('delivery.deliveredOn')}
          label={t.deliveredOn[kind ?? 'goods']}
          max={todayInBrasilia()}
        />
        {isShipped && <TextInput {...form.input('delivery.carrier')} label={t.carrier} maxLength={80} />}
        {isShipped && <TextInput {...form.input('delivery.trackingCode')} label={t.trackingCode} maxLength={60} />}
        <TextInput {...form.input('delivery.receivedBy')} label={t.receivedBy} maxLength={100} />
        <TextInput {...form.input('delivery.invoice')} label={t.invoice} maxLength={60} />
      </SimpleGrid>
    </fieldset>
  )
}
