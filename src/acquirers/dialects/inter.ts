import { dialect, standardScopes, under } from './dialect.ts'

export const inter = dialect({
  title: 'Banco Inter',
  ispb: '00416968',
  hosts: {
    production: { baseUrl: 'https://cdpj.partners.bancointer.com.br' },
    sandbox: { baseUrl: 'https://cdpj-sandbox.partners.uatinter.co' },
  },
  settings: { account: { isRequired: false, what: 'the number of the account, where the application has several' } },
  profile: {
    token: {
      path: '/oauth/v2/token',
      credentials: 'body',
      scopes: standardScopes,
      payoutScopes: ['pagamento-pix.read', 'pagamento-pix.write', 'webhook-banking.read', 'webhook-banking.write'],
      balanceScopes: ['extrato.read'],
    },
    payoutApi: 'inter',
    paths: {
      ...under('/pix/v2'),
      payout: '/banking/v2/pix',
      payoutWebhook: '/banking/v2/webhooks/pix-pagamento',
      balance: '/banking/v2/saldo',
    },
    headers: { 'x-conta-corrente': '{account}' },
  },
  sources: [
    'https://github.com/inter-co/pj-sdk-python',
    'https://developers.inter.co/references/banking (API Banking v2)',
    'https://github.com/edusouza/inter-pj-cli (spec/inter-empresas-openapi.json, a copy of the portal’s reference)',
    'https://github.com/frones/ACBr (Fontes/ACBrPIXCD/ACBrPIXPSPInter.pas)',
  ],
  unconfirmed: [
    'How long x-id-idempotente is remembered, and how a repeat with other content is answered.',
    'Whether disponivel of the balance excludes the blocked sums: read as if it did.',
    'Whether a callback about a payout goes to the address itself or to /pix-pagamento beneath it: Guichê accepts both.',
  ],
})
