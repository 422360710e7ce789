import {
  Button,
  Collapse,
  Group,
  SegmentedControl,
  Select,
  SimpleGrid,
  Stack,
  TextInput,
  UnstyledButton,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { guiche } from '../../api.ts'
import { RequireMerchant } from '../../components/choose-merchant.tsx'
import { ActionForm, useMutationForm } from '../../components/form.tsx'
import { MoneyInput } from '../../components/money-input.tsx'
import { Page } from '../../components/page.tsx'
import { useFormat } from '../../format.ts'
import { useIdempotencyKey } from '../../idempotency.ts'
import { useText } from '../../text.ts'
import { Keypad } from './keypad.tsx'
import { type Charge, OpenCharge } from './open-charge.tsx'
import { words } from './text.ts'

/** Creates a charge without a program: with a form, or with a keypad at a counter. */
export default function NewCharge() {
  const t = useText(words)
  return <RequireMerchant title={t.title}>{(client) => <Charging client={client} />}</RequireMerchant>
}

function Charging({ client }: { client: string }) {
  const t = useText(words)
  const [query, setQuery] = useSearchParams()
  const [charge, setCharge] = useState<Charge | null>(null)
  const isCounter = query.get('mode') === 'counter'
  const choose = (mode: string) =>
    setQuery(
      (before) => {
        before.set('mode', mode)
        return before
      },
      { replace: true },
    )
  return (
    <Page
      title={t.title}
      lead={isCounter ? undefined : t.lead}
      actions={
        <SegmentedControl
          aria-label={t.title}
          value={isCounter ? 'counter' : 'form'}
          onChange={choose}
          data={[
            { value: 'form', label: t.form },
            { value: 'counter', label: t.counter },
          ]}
        />
      }
    >
      {charge ? (
        <OpenCharge client={client} charge={charge} isCounter={isCounter} onNext={() => setCharge(null)} />
      ) : isCounter ? (
        <Keypad onCreated={setCharge} />
      ) : (
        <Form onCreated={setCharge} />
      )}
    </Page>
  )
}

const minute = 60

function Form({ onCreated }: { onCreated: (charge: Charge) => void }) {
  const t = useText(words)
  const format = useFormat()
  const keyOf = useIdempotencyKey()
  const [hasCustomer, { toggle }] = useDisclosure()
  const create = useMutationForm({
    initialValues: {
      amount: null as number | null,
      description: '',
      customer: { name: '', document: '', email: '' },
      pix: { expirationSeconds: String(30 * minute) as string | null },
    },
    send: async (values) => {
      const { amount, description, customer, pix } = values
      return await guiche.transactions.create({
        amount: amount ?? 0,
        idempotencyKey: keyOf(values),
        ...(description.trim() !== '' && { description: description.trim() }),
        ...(Object.values(customer).some((text) => text !== '') && { customer }),
        pix: { expirationSeconds: Number(pix.expirationSeconds) },
      })
    },
    onSuccess: onCreated,
  })
  const isReady = create.values.amount !== null
  return (
    <div className="card" style={{ padding: 'var(--mantine-spacing-md)' }}>
      <ActionForm
        action={create}
        isReady={isReady}
        buttons={
          <Group justify="flex-end">
            <Button type="submit" loading={create.isPending} disabled={!isReady}>
              {t.create}
            </Button>
          </Group>
        }
      >
        <SimpleGrid cols={{ base: 1, sm: 3 }}>
          <MoneyInput {...create.input('amount')} label={t.amount} placeholder={format.money(0)} size="md" autoFocus />
          <TextInput
            {...create.input('description')}
            label={t.description}
            description={t.descriptionHint}
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            size="md"
            maxLength={140}
          />
          <Select
            {...create.input('pix.expirationSeconds')}
            label={t.expires}
            size="md"
            allowDeselect={false}
            data={[
              ...[15, 30].map((count) => ({ value: String(count * minute), label: t.minutes(count) })),
              ...[1, 6, 24].map((count) => ({ value: String(count * 60 * minute), label: t.hours(count) })),
            ]}
          />
        </SimpleGrid>
        <Stack gap="xs">
          <UnstyledButton
            onClick={toggle}
            aria-expanded={hasCustomer}
            c="var(--mantine-color-anchor)"
            fz="sm"
            w="fit-content"
          >
            {hasCustomer ? '−' : '+'} {t.customer}
          </UnstyledButton>
          <Collapse expanded={hasCustomer}>
            <SimpleGrid cols={{ base: 1, sm: 3 }}>
              <TextInput {...create.input('customer.name')} label={t.name} />
              <TextInput {...create.input('customer.document')} label={t.document} autoCapitalize="characters" />
              <TextInput {...create.input('customer.email')} label={t.email} type="email" />
            </SimpleGrid>
          </Collapse>
        </Stack>
      </ActionForm>
    </div>
  )
}
