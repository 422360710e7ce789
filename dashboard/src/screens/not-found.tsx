import { Anchor, Code, Text } from '@mantine/core'
import { Link, useLocation } from 'wouter'
import { Empty } from '../components/empty.tsx'
import { Page } from '../components/page.tsx'
import { useClientLink } from '../links.ts'
import { texts, useText } from '../text.ts'

const words = texts({
  en: {
    title: 'Not found',
    nothing: 'This screen does not exist, or your role has no access to it',
    hint: 'Check the address, or choose a screen from the menu.',
    sandbox: 'The sandbox is not available',
    sandboxHint:
      'It is off because real PSPs are configured, or your role has no access to it. To pay in an external simulator, use',
    toToday: 'View today’s figures',
  },
  pt: {
    title: 'Não encontrado',
    nothing: 'Esta tela não existe, ou o seu perfil não dá acesso a ela',
    hint: 'Confira o endereço ou escolha uma tela no menu.',
    sandbox: 'O sandbox não está disponível',
    sandboxHint:
      'Está desativado porque há PSPs reais configurados, ou o seu perfil não dá acesso a ele. Para pagar em um simulador externo, use',
    toToday: 'Ver os números de hoje',
  },
})

/** Shown for an address that belongs to no screen, or to a screen that the user may not see. */
export function NotFound() {
  const t = useText(words)
  const [location] = useLocation()
  const toLink = useClientLink()
  const isSandbox = location === '/sandbox'
  return (
    <Page title={t.title}>
      <div className="card">
        <Empty icon={isSandbox ? 'sandbox' : 'search'} title={isSandbox ? t.sandbox : t.nothing}>
          {isSandbox ? (
            <>
              {t.sandboxHint} <Code>npx guiche simulator pay</Code>.
            </>
          ) : (
            t.hint
          )}
          <Text size="sm" mt="md">
            <Anchor component={Link} href={toLink('/')} underline="always">
              {t.toToday}
            </Anchor>
          </Text>
        </Empty>
      </div>
    </Page>
  )
}
