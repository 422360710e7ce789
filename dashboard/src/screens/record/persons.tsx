import type { Transaction } from '@guiche/sdk'
import { Anchor, Badge, Group, Text } from '@mantine/core'
import { Link } from 'wouter'
import { CopyAction } from '../../components/copy.tsx'
import { type Fact, FactList } from '../../components/fact-list.tsx'
import { Section } from '../../components/page.tsx'
import { useFormat } from '../../format.ts'
import { useClientLink } from '../../links.ts'
import { texts, useText } from '../../text.ts'

const words = texts({
  en: {
    customer: 'Customer',
    payer: 'Payer',
    name: 'Name',
    email: 'E-mail',
    phone: 'Phone',
    all: 'All charges of this customer',
    same: 'Paid by the customer',
    notCustomer: 'Not the customer',
    none: 'The charge names no customer.',
  },
  pt: {
    customer: 'Cliente',
    payer: 'Pagador',
    name: 'Nome',
    email: 'E-mail',
    phone: 'Telefone',
    all: 'Todas as cobranças deste cliente',
    same: 'Pago pelo próprio cliente',
    notCustomer: 'Não é o cliente',
    none: 'A cobrança não informa o cliente.',
  },
})

/** The customer of a charge, and who has paid it, with a mark if that is somebody else. */
export function Persons({ transaction: { id, customer, payer } }: { transaction: Transaction }) {
  const t = useText(words)
  const format = useFormat()
  const toLink = useClientLink()
  const isOther = customer && payer && !maySame(payer.document, customer.document.value)
  const payerFacts: Fact[] = payer
    ? [
        [t.name, payer.name],
        [kindOf(payer.document), <Copied key="d" value={format.document(payer.document)} label={t.payer} />],
      ]
    : []
  return (
    <>
      <Section
        title={t.customer}
        aside={
          customer && (
            <Anchor component={Link} href={toLink(`/customers/${id}`)} size="sm">
              {t.all}
            </Anchor>
          )
        }
      >
        {customer ? (
          <CustomerFacts customer={customer} />
        ) : (
          <Text size="sm" c="dimmed">
            {t.none}
          </Text>
        )}
        {customer && payer && !isOther && (
          <Text size="sm" c="dimmed" mt="xs">
            {t.same}
          </Text>
        )}
      </Section>
      {payer && (isOther || !customer) && (
        <Section
          title={t.payer}
          aside={
            isOther && (
              <Badge color="orange" variant="light" tt="none" radius="sm">
                {t.notCustomer}
              </Badge>
            )
          }
        >
          <FactList facts={payerFacts} />
        </Section>
      )}
    </>
  )
}

function CustomerFacts({ customer }: { customer: NonNullable<Transaction['customer']> }) {
  const t = useText(words)
  const format = useFormat()
  const { name, document, email } = customer
  const facts: Fact[] = [
    [t.name, name],
    [document.type, <Copied key="d" value={format.document(document.value)} label={document.type} />],
  ]
  if (email) facts.push([t.email, <Copied key="e" value={email} label={t.email} />])
  const phone = customer.mobilePhone ?? customer.landline
  if (phone) facts.push([t.phone, <Copied key="p" value={format.phone(phone)} label={t.phone} />])
  return <FactList facts={facts} />
}

function Copied({ value, label }: { value: string; label: string }) {
  return (
    <Group gap={4} wrap="nowrap" component="span" justify="flex-end" style={{ display: 'inline-flex' }}>
      <span>{value}</span>
      <CopyAction value={value} label={label} isSmall />
    </Group>
  )
}

const kindOf = (document: string) => (document.replace(/[./-]/g, '').length === 14 ? 'CNPJ' : 'CPF')

/** Whether two tax numbers may be the same: banks mask some digits of the payer's. */
function maySame(one: string, other: string): boolean {
  const [left, right] = [one, other].map((value) => value.replace(/[./-]/g, ''))
  return left?.length === right?.length && [...(left ?? '')].every((sign, at) => sign === '*' || sign === right?.[at])
}
