import { Button, Checkbox, Group, SegmentedControl, SimpleGrid, Textarea, TextInput } from '@mantine/core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { request } from '../../api.ts'
import { DayInput } from '../../components/day-input.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { ActionForm, useMutationForm } from '../../components/form.tsx'
import { MoneyInput } from '../../components/money-input.tsx'
import { dayEnd, dayInBrasilia } from '../../days.ts'
import { newUuid } from '../../idempotency.ts'
import { useText } from '../../text.ts'
import type { LinkDetailResponse } from '../../types.ts'
import { words } from './text.ts'

type Props = {
  client: string
  /** Null: the form creates a link. */
  link: LinkDetailResponse | null
  onClose: () => void
  onSaved: (link: LinkDetailResponse) => void
}

/** Creates a link, or changes one. */
export function LinkForm({ client, link, onClose, onSaved }: Props) {
  const t = useText(words)
  return (
    <Dialog onClose={onClose} title={link ? t.edit : t.create} size="lg" closeOnClickOutside={false}>
      <Fields client={client} link={link} onClose={onClose} onSaved={onSaved} />
    </Dialog>
  )
}

function Fields({ client, link, onClose, onSaved }: Props) {
  const t = useText(words)
  const queries = useQueryClient()
  // `changedAt` is of the version that the form shows: if there is a newer one, the service refuses the change.
  const [{ id, changedAt }] = useState(() => link ?? { id: newUuid(), changedAt: null })
  const action = useMutationForm({
    initialValues: toValues(link),
    send: async (values) =>
      link
        ? await request<LinkDetailResponse>('PUT', `/link/${id}`, { ...toBody(values), changedAt })
        : await request<LinkDetailResponse>('POST', '/link', { ...toBody(values), id, clientId: client }),
    onSuccess: async (saved) => {
      queries.setQueryData(['link', saved.id], saved)
      await queries.invalidateQueries({ queryKey: ['links', client] })
      onClose()
      onSaved(saved)
    },
  })
  const { kind, title, amount, hasStaticCode } = action.values
  const isReady = title.trim() !== '' && (kind === 'open' || amount !== null)
  // The static code contains the amount, and may be printed: the amount can no longer change.
  const isPrinted = link?.hasStaticCode ?? false
  return (
    <ActionForm
      action={action}
      isReady={isReady}
      buttons={
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t.cancel}
          </Button>
          <Button type="submit" loading={action.isPending} disabled={!isReady}>
            {link ? t.save : t.create}
          </Button>
        </Group>
      }
    >
      <TextInput {...action.input('title')} label={t.name} description={t.nameHint} maxLength={80} data-autofocus />
      <Textarea
        {...action.input('description')}
        label={t.description}
        maxLength={500}
        autosize
        minRows={2}
        maxRows={6}
      />
      <SegmentedControl
        aria-label={t.kind}
        disabled={isPrinted}
        value={kind}
        onChange={(next) => action.setValues({ kind: next })}
        data={[
          { value: 'fixed', label: t.fixed },
          { value: 'open', label: t.open },
        ]}
      />
      {kind === 'fixed' ? (
        <MoneyInput {...action.input('amount')} label={t.amount} disabled={isPrinted} />
      ) : (
        <SimpleGrid cols={2}>
          <MoneyInput {...action.input('amountMin')} label={t.min} />
          <MoneyInput {...action.input('amountMax')} label={t.max} />
        </SimpleGrid>
      )}
      {!hasStaticCode && (
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <TextInput
            {...action.input('stock')}
            label={t.stock}
            placeholder={t.stockHint}
            inputMode="numeric"
            maxLength={5}
          />
          <DayInput {...action.input('expiresAt')} label={t.expires} />
        </SimpleGrid>
      )}
      <TextInput {...action.input('slug')} label={t.slug} description={t.slugHint} maxLength={60} />
      <TextInput {...action.input('webhookUrl')} label={t.webhook} type="url" />
      <Checkbox {...action.checkbox('needsCustomer')} label={t.customerNeeded} />
      <Checkbox
        {...action.checkbox('hasStaticCode')}
        label={t.static}
        description={t.staticHint}
        disabled={isPrinted}
      />
      {link && <Checkbox {...action.checkbox('isEnabled')} label={t.enabled} />}
    </ActionForm>
  )
}

/** The values of a link's form. The day and the stock are text. */
export function toValues(link: LinkDetailResponse | null) {
  return {
    kind: link && link.amount === null ? 'open' : 'fixed',
    title: link?.title ?? '',
    description: link?.description ?? '',
    amount: link?.amount ?? null,
    amountMin: link?.amountMin ?? null,
    amountMax: link?.amountMax ?? null,
    stock: link?.stock == null ? '' : String(link.stock),
    expiresAt: link?.expiresAt ? dayInBrasilia(link.expiresAt) : '',
    slug: link?.slug ?? '',
    webhookUrl: link?.webhookUrl ?? '',
    needsCustomer: link?.needsCustomer ?? false,
    hasStaticCode: link?.hasStaticCode ?? false,
    isEnabled: link?.isEnabled ?? true,
  }
}

export function toBody(values: ReturnType<typeof toValues>): object {
  const { kind, title, description, stock, expiresAt, slug, webhookUrl, hasStaticCode } = values
  const isOpen = kind === 'open'
  return {
    title,
    description: description.trim() === '' ? null : description,
    amount: isOpen ? null : values.amount,
    amountMin: isOpen ? values.amountMin : null,
    amountMax: isOpen ? values.amountMax : null,
    // A text that is not a number is sent as it is: the service refuses it, and the error is shown beside the field.
    stock: hasStaticCode || stock.trim() === '' ? null : (toNumber(stock) ?? stock),
    expiresAt: hasStaticCode ? null : (dayEnd(expiresAt) ?? null),
    ...(slug.trim() !== '' && { slug: slug.trim() }),
    webhookUrl: webhookUrl.trim() === '' ? null : webhookUrl.trim(),
    needsCustomer: values.needsCustomer,
    hasStaticCode,
    isEnabled: values.isEnabled,
  }
}

function toNumber(text: string): number | null {
  return /^\d+$/.test(text.trim()) ? Number(text) : null
}
