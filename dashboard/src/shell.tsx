import {
  ActionIcon,
  AppShell,
  Badge,
  Group,
  Menu,
  NavLink,
  ScrollArea,
  Text,
  Tooltip,
  UnstyledButton,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation } from '@tanstack/react-query'
import { type ReactNode, useEffect } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { setActingMerchant, signOut } from './api.ts'
import { AttentionBadge, useAttentionCount, useBadgeFilter } from './components/attention.tsx'
import { BottomBar } from './components/bottom-bar.tsx'
import { ErrorNotice } from './components/error-notice.tsx'
import { FindButton } from './components/find-button.tsx'
import { IconOf } from './components/icons.tsx'
import { MerchantSwitch } from './components/merchant-switch.tsx'
import { OfflineBar } from './components/offline-bar.tsx'
import { AttentionCount } from './components/page.tsx'
import { useClientLink } from './links.ts'
import { screens } from './screens.ts'
import { useClient, useUser } from './session.tsx'
import { languages, texts, useLanguage, useText } from './text.ts'

export const navigationWords = texts<Record<string, string>>({
  en: {
    today: 'Today',
    transactions: 'Transactions',
    charge: 'New charge',
    links: 'Payment links',
    withdrawals: 'Withdrawals',
    disputes: 'Disputes (MED)',
    ledger: 'Ledger',
    month: 'Month closing',
    reconciliation: 'Reconciliation',
    webhooks: 'Webhooks',
    paymentPage: 'Branding',
    apiRequests: 'API requests',
    credentials: 'Credentials',
    sandbox: 'Sandbox',
    users: 'People',
    audit: 'Audit log',
    personalData: 'Personal data',
    system: 'System',
    account: 'Your account',
    guide: 'Guide',
    menu: 'Menu',
    theme: 'Switch between light and dark',
    signOut: 'Sign out',
    skip: 'Skip to content',
    skipToList: 'Skip to the first row',
    simulated: 'Simulated: no real money',
    ledgerOfMerchant: 'Statement',
  },
  pt: {
    today: 'Hoje',
    transactions: 'Transações',
    charge: 'Nova cobrança',
    links: 'Links de pagamento',
    withdrawals: 'Saques',
    disputes: 'Contestações (MED)',
    ledger: 'Livro-razão',
    month: 'Fechamento do mês',
    reconciliation: 'Conciliação',
    webhooks: 'Webhooks',
    paymentPage: 'Identidade visual',
    apiRequests: 'Requisições da API',
    credentials: 'Credenciais',
    sandbox: 'Sandbox',
    users: 'Usuários',
    audit: 'Auditoria',
    personalData: 'Dados pessoais',
    system: 'Sistema',
    account: 'Sua conta',
    guide: 'Guia',
    menu: 'Menu',
    theme: 'Alternar entre claro e escuro',
    signOut: 'Sair',
    skip: 'Ir para o conteúdo',
    skipToList: 'Ir para a primeira linha',
    simulated: 'Simulado: sem dinheiro de verdade',
    ledgerOfMerchant: 'Extrato',
  },
})

/** The frame of every screen: header, navigation and user menu. */
export function Shell({ onSignedOut, children }: { onSignedOut: () => void; children: ReactNode }) {
  const t = useText(navigationWords)
  const [isOpen, { toggle, close }] = useDisclosure()
  const [location] = useLocation()
  const search = useSearch()
  const { permissions, merchant } = useUser()
  const toLink = useClientLink()
  const badgeFilter = useBadgeFilter()
  const client = useClient()
  // This has to be set before any component below sends a request.
  setActingMerchant(merchant === null ? client : null)
  const signingOut = useSignOut(onSignedOut)
  const leave = () => signingOut.mutate()
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the address changes
  useEffect(() => {
    close()
    if (signingOut.isError) signingOut.reset()
  }, [location, search])
  // No user has this permission while real acquirers are configured.
  const isSimulated = permissions.includes('sandbox.use')
  const permitted = screens.filter(
    ({ permission, isForOperator }) =>
      (permission === null || permissions.includes(permission)) && !(isForOperator && merchant !== null),
  )
  // The title of the window shows the count of a list. The screen of one record has none.
  const waiting = useAttentionCount(permitted.find(({ paths }) => paths[0] === location)?.name)
  const shown = permitted.filter(({ icon }) => icon)
  return (
    <AppShell
      header={{ height: 56 }}
      footer={{ height: { base: 'calc(56px + env(safe-area-inset-bottom))', sm: 0 } }}
      navbar={{ width: 240, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'md', sm: 'xl' }}
    >
      <AppShell.Header>
        <a href="#content" className="skip">
          {t.skip}
        </a>
        <button
          type="button"
          className="skip to-list"
          onClick={() => document.querySelector<HTMLElement>(firstRow)?.focus()}
        >
          {t.skipToList}
        </button>
        <Group h="100%" px="md" gap="sm" wrap="nowrap">
          <UnstyledButton component={Link} href={toLink('/')} aria-label="Guichê">
            <Group gap={8} wrap="nowrap">
              <img src="/dashboard/icon.svg" width={26} height={26} alt="" />
              <Text fw={700} visibleFrom="xs">
                Guichê
              </Text>
            </Group>
          </UnstyledButton>
          <MerchantSwitch />
          {isSimulated && (
            <Badge variant="light" color="gray" tt="none" radius="sm" visibleFrom="md" style={{ flexShrink: 0 }}>
              {t.simulated}
            </Badge>
          )}
          <div style={{ flex: 1 }} />
          <FindButton shown={permitted} onSignOut={leave} />
          <ThemeButton label={t.theme ?? ''} />
          <UserMenu onSignOut={leave} />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label={t.menu ?? ''}>
        <ScrollArea>
          {shown.map(({ name, icon, paths: [path = '/'] }) => (
            <NavLink
              key={name}
              component={Link}
              href={toLink(path, badgeFilter(name))}
              // The address stays the same if it is the current screen.
              onClick={close}
              label={(merchant !== null && t[`${name}OfMerchant`]) || (t[name] ?? name)}
              active={path === '/' ? location === '/' : location.startsWith(path)}
              aria-current={(path === '/' ? location === '/' : location.startsWith(path)) ? 'page' : undefined}
              leftSection={icon && <IconOf name={icon} />}
              rightSection={<AttentionBadge screen={name} />}
              style={{ borderRadius: 'var(--mantine-radius-sm)', lineHeight: 1.3 }}
            />
          ))}
        </ScrollArea>
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1}>
        <div style={{ maxWidth: 1180, marginInline: 'auto' }}>
          {isSimulated && (
            <Text size="xs" c="dimmed" mb="xs" hiddenFrom="md">
              {t.simulated}
            </Text>
          )}
          <OfflineBar />
          {signingOut.isError && (
            <div className="sign-out-error not-printed">
              <ErrorNotice error={signingOut.error} onRetry={leave} />
            </div>
          )}
          <AttentionCount value={waiting.shown}>{children}</AttentionCount>
        </div>
      </AppShell.Main>
      <BottomBar shown={shown} isMenuOpen={isOpen} onMenu={toggle} onOpened={close} />
    </AppShell>
  )
}

/** A screen without a list has no rows, and style.css hides the button that skips to the first one. */
const firstRow = '#content tr.link .row-link'

function ThemeButton({ label }: { label: string }) {
  const { setColorScheme } = useMantineColorScheme()
  const scheme = useComputedColorScheme('light')
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={label}
        onClick={() => setColorScheme(scheme === 'dark' ? 'light' : 'dark')}
      >
        <IconOf name={scheme === 'dark' ? 'sun' : 'moon'} />
      </ActionIcon>
    </Tooltip>
  )
}

function UserMenu({ onSignOut }: { onSignOut: () => void }) {
  const t = useText(navigationWords)
  const user = useUser()
  const { language, choose } = useLanguage()
  const toLink = useClientLink()
  return (
    <Menu position="bottom-end" width={240} withinPortal withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <ActionIcon variant="light" radius="xl" size="lg" aria-label={`${t.account}: ${user.name}`}>
          <Text size="sm" fw={600} component="span">
            {Array.from(user.name)[0]?.toUpperCase()}
          </Text>
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {user.name}
          <br />
          {user.email}
        </Menu.Label>
        <Menu.Item leftSection={<IconOf name="account" size={16} />} component={Link} href={toLink('/account')}>
          {t.account}
        </Menu.Item>
        <Menu.Item
          leftSection={<IconOf name="ledger" size={16} />}
          component="a"
          href={language === 'pt' ? '/guide/pt/' : '/guide/'}
          target="_blank"
          rel="noopener"
        >
          {t.guide}
        </Menu.Item>
        <Menu.Divider />
        {languages.map((one) => (
          <Menu.Item
            key={one}
            lang={one}
            onClick={() => choose(one)}
            leftSection={one === language ? <IconOf name="check" size={16} /> : <span style={{ width: 16 }} />}
          >
            {one === 'en' ? 'English' : 'Português'}
          </Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item leftSection={<IconOf name="out" size={16} />} onClick={onSignOut}>
          {t.signOut}
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

/**
 * Ends the session here, and at the identity provider if it has a page for that. If it fails, the user is still signed
 * in, and the screen stays.
 */
function useSignOut(onSignedOut: () => void) {
  return useMutation({
    mutationFn: signOut,
    // By default, a mutation without a connection waits for it: it would end the session much later.
    networkMode: 'always',
    onSuccess: ({ providerSignOutUrl }) => {
      if (providerSignOutUrl !== null) location.assign(providerSignOutUrl)
      onSignedOut()
    },
  })
}
