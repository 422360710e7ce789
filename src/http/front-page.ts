import { createHash } from 'node:crypto'
import { chooseLanguage } from './language.ts'
import type { Server } from './server.ts'

/**
 * For a person who opens the bare address: links to where they may want to go. The links are relative, so that they
 * also work under a proxy's path.
 */
export function registerFrontPage(app: Server, { isSimulated }: { isSimulated: boolean }): void {
  const pages = { en: toPage('en', isSimulated), pt: toPage('pt', isSimulated) }
  app.get('/', { config: { access: { public: true } }, schema: { hide: true } }, async (request, reply) => {
    const language = chooseLanguage(request.headers['accept-language'], 'en')
    return (
      reply
        .type('text/html; charset=utf-8')
        .header('content-security-policy', policy)
        // With helmet's `no-referrer`, browsers would send `Origin: null` with the form.
        .header('referrer-policy', 'same-origin')
        .header('vary', 'accept-language')
        .send(pages[language])
    )
  })
  // Browsers request it for pages without a link to an icon, for example a JSON response.
  const hidden = { config: { access: { public: true } }, schema: { hide: true } } as const
  app.get('/favicon.ico', hidden, async (_, reply) => reply.redirect('dashboard/icon.svg'))
}

type Link = [path: string, name: string, what: string]

const words: Record<'en' | 'pt', { lang: string; lead: string; simulated: string; links: Link[]; tryIt: Link }> = {
  en: {
    lang: 'en',
    lead: 'A PIX payment gateway',
    simulated: 'Simulated: no real money moves.',
    links: [
      ['dashboard/', 'Dashboard', 'Payments, withdrawals, balances and settings'],
      ['guide/', 'Guide', 'From the first charge to going live'],
      ['guide/reference/', 'API reference', 'Every operation, with samples and error codes'],
    ],
    tryIt: ['pay/sample', 'Pay a test charge', 'Creates a charge and opens its payment page'],
  },
  pt: {
    lang: 'pt-BR',
    lead: 'Um gateway de pagamentos Pix',
    simulated: 'Simulado: nenhum dinheiro de verdade é movimentado.',
    links: [
      ['dashboard/', 'Painel', 'Pagamentos, saques, saldos e configurações'],
      ['guide/pt/', 'Guia', 'Da primeira cobrança à produção'],
      ['guide/pt/reference/', 'Referência da API', 'Todas as operações, com exemplos e códigos de erro'],
    ],
    tryIt: ['pay/sample', 'Pague um Pix de teste', 'Cria uma cobrança e abre a página de pagamento'],
  },
}

const style = `
:root { color-scheme: light dark; --line: light-dark(#e2e8e6, #2a3431); --dim: light-dark(#56635f, #9fb0ac) }
body { display: grid; place-content: center; min-height: 100vh; margin: 0; padding: 24px; box-sizing: border-box;
  font: 16px/1.5 system-ui, sans-serif; color: light-dark(#14201d, #e8efed); background: light-dark(#f6f8f8, #111615) }
main { width: min(640px, 100vw - 48px) }
h1 { margin: 0; font-size: 28px }
p { margin: 4px 0 24px; color: var(--dim) }
ul { display: grid; grid-template-columns: repeat(auto-fit, minmax(240px, 1fr)); gap: 12px; margin: 0; padding: 0; list-style: none }
form { height: 100% }
a, button { display: flex; flex-direction: column; width: 100%; height: 100%; box-sizing: border-box; padding: 16px; color: inherit; font: inherit; text-align: start;
  text-decoration: none; cursor: pointer; background: light-dark(#fff, #1a211f); border: 1px solid var(--line); border-radius: 10px }
a:hover, a:focus-visible, button:hover, button:focus-visible { border-color: #0b7a6f; outline: none; box-shadow: 0 0 0 1px #0b7a6f }
b { display: block; color: light-dark(#0b7a6f, #6fd3c5) }
span { font-size: 14px; color: var(--dim) }`

const policy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`

function toPage(language: keyof typeof words, isSimulated: boolean): string {
  const { lang, lead, simulated, links, tryIt } = words[language]
  const items = links.map(([path, ...text]) => `<li><a href="${path}">${toText(text)}</a></li>`)
  const [action, ...text] = tryIt
  // A form, because it creates a charge: a link could be followed by a crawler (src/pay/sample.ts).
  if (isSimulated) items.push(`<li><form method="post" action="${action}"><button>${toText(text)}</button></form></li>`)
  return `<!doctype html>
<html lang="${lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Guichê</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>Guichê</h1>
<p>${lead}${isSimulated ? `. ${simulated}` : ''}</p>
<ul>
${items.join('\n')}
</ul>
</main>
</body>
</html>
`
}

function toText([name, what]: [name: string, what: string]): string {
  return `<b>${name}</b><span>${what}</span>`
}
