import { Anchor, Button, Center, Group, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useClientLink } from '../links.ts'
import { useMay } from '../session.tsx'
import { texts, useLanguage, useText } from '../text.ts'
import { type Icon, IconOf } from './icons.tsx'

const words = texts({
  en: {
    hint: 'Change or remove a filter.',
    guide: 'Read how in the guide',
    charge: 'New charge',
    sandbox: 'Try it in the sandbox',
  },
  pt: {
    hint: 'Altere ou remova um filtro.',
    guide: 'Veja como no guia',
    charge: 'Nova cobrança',
    sandbox: 'Testar no sandbox',
  },
})

/** The screens on which the first entry of a list is made. */
const places = {
  charge: { path: '/charge', permission: 'transaction.write' },
  sandbox: { path: '/sandbox', permission: 'sandbox.use' },
} as const

/** What makes the first entry appear: a screen that the user may open, and a page of the guide. */
type Help = { action?: keyof typeof places; guide?: GuidePage }

/** Pages of the guide, and whether they are in Portuguese too. */
const guidePages = {
  webhooks: true,
  withdrawals: true,
  money: true,
  suspense: true,
  dashboard: true,
  reconciliation: true,
  ledger: false,
} as const
type GuidePage = keyof typeof guidePages

type Props = { icon: Icon; title: string; children?: ReactNode } & Help

/** An empty list: says that nothing matches its filters or, without filters, what will appear here. */
export function EmptyList({ isFiltered, noneFound, ...none }: { isFiltered: boolean; noneFound: string } & Props) {
  const t = useText(words)
  return isFiltered ? (
    <Empty icon="filter" title={noneFound}>
      {t.hint}
    </Empty>
  ) : (
    <Empty {...none} />
  )
}

/** An empty state: says why nothing is shown, and what will appear here. */
export function Empty({ icon, title, children, action, guide }: Props) {
  return (
    <Center py={56} px="md">
      <Stack align="center" gap={6} maw={440}>
        <Text c="dimmed" component="span">
          <IconOf name={icon} size={32} />
        </Text>
        <Text fw={600} ta="center">
          {title}
        </Text>
        {children && (
          <Text size="sm" c="dimmed" ta="center" component="div">
            {children}
          </Text>
        )}
        <HelpLinks action={action} guide={guide} />
      </Stack>
    </Center>
  )
}

function HelpLinks({ action, guide }: { [Name in keyof Help]: Help[Name] | undefined }) {
  const t = useText(words)
  const may = useMay()
  const toLink = useClientLink()
  const { language } = useLanguage()
  const place = action && may(places[action].permission) ? places[action] : undefined
  if (!place && !guide) return null
  const folder = language === 'pt' && guide && guidePages[guide] ? '/guide/pt/' : '/guide/'
  return (
    <Group gap="md" mt={8} justify="center">
      {place && action && (
        <Button component={Link} href={toLink(place.path)} size="xs" variant="default">
          {t[action]}
        </Button>
      )}
      {guide && (
        <Anchor href={`${folder}${guide}.html`} target="_blank" rel="noopener" size="sm">
          {t.guide}
        </Anchor>
      )}
    </Group>
  )
}
