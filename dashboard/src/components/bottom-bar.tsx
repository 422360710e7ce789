import { AppShell, Text, UnstyledButton } from '@mantine/core'
import { Link, useLocation } from 'wouter'
import { useClientLink } from '../links.ts'
import type { ScreenEntry } from '../screens.ts'
import { useUser } from '../session.tsx'
import { navigationWords } from '../shell.tsx'
import { texts, useText } from '../text.ts'
import { type Icon, IconOf } from './icons.tsx'

const words = texts<Record<string, string>>({
  en: { label: 'Main screens', more: 'More', charge: 'Charge', ledger: 'Ledger', ledgerOfMerchant: 'Balance' },
  pt: { label: 'Telas principais', more: 'Mais', charge: 'Cobrar', ledger: 'Razão', ledgerOfMerchant: 'Saldo' },
})

/** The bar shows the first four of these screens that the user may open. */
const mainScreens = ['today', 'transactions', 'charge', 'withdrawals', 'ledger', 'webhooks', 'system']
const shownMax = 4

type Props = { shown: readonly ScreenEntry[]; isMenuOpen: boolean; onMenu: () => void; onOpened: () => void }

/** On a phone: the main screens, and a button that shows the others. */
export function BottomBar({ shown, isMenuOpen, onMenu, onOpened }: Props) {
  const t = useText(words)
  const nameOf = useText(navigationWords)
  const [location] = useLocation()
  const toLink = useClientLink()
  const { merchant } = useUser()
  const main = mainScreens.flatMap((name) => shown.find((one) => one.name === name) ?? []).slice(0, shownMax)
  return (
    <AppShell.Footer component="nav" hiddenFrom="sm" aria-label={t.label} className="bottom-bar">
      {main.map(({ name, icon, paths: [path = '/'] }) => {
        const isCurrent = !isMenuOpen && (path === '/' ? location === '/' : location.startsWith(path))
        return (
          <UnstyledButton
            key={name}
            component={Link}
            href={toLink(path)}
            onClick={onOpened}
            className="bottom-bar-item"
            aria-current={isCurrent ? 'page' : undefined}
          >
            <Item
              icon={icon ?? 'more'}
              name={(merchant && t[`${name}OfMerchant`]) || t[name] || nameOf[name] || name}
            />
          </UnstyledButton>
        )
      })}
      <UnstyledButton className="bottom-bar-item" onClick={onMenu} aria-expanded={isMenuOpen}>
        <Item icon="more" name={t.more ?? ''} />
      </UnstyledButton>
    </AppShell.Footer>
  )
}

function Item({ icon, name }: { icon: Icon; name: string }) {
  return (
    <>
      <IconOf name={icon} size={20} />
      <Text fz={11} component="span" truncate maw="100%">
        {name}
      </Text>
    </>
  )
}
