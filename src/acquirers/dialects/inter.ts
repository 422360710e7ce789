import { dialect, standardScopes, under } from './dialect.ts'

export const inter = dialect({
  title: 'Banco Inter',
  ispb: '00416968',
  places: {
    production: { baseUrl: 'https://cdpj.partners.bancointer.com.br' },
    sandbox: { baseUrl: 'https://cdpj-sandbox.partners.uatinter.co' },
  },
  settings: { account: { isRequired: false, what: 'the number of the account, where the application has several' } },
  manner: {
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
  sources: ['https://github.com/frones/ACBr (Fontes/ACBrPIXCD/ACBrPIXPSPInter.pas)'],
  unconfirmed: [
    'Its list of Pix is said to differ from the standard’s; it is read with or without paging.',
    'Its payouts belong to another API (banking) and are not used.',
    'The sandbox’s host is from programs, not from its documentation.',
  ],
})
