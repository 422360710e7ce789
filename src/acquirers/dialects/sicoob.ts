import { dialect, standardScopes, under } from './dialect.ts'

export const sicoob = dialect({
  title: 'Sicoob',
  ispb: '02038232',
  places: {
    production: {
      baseUrl: 'https://api.sicoob.com.br',
      tokenUrl: 'https://auth.sicoob.com.br/auth/realms/cooperado/protocol/openid-connect/token',
    },
    // Its sandbox takes a token that stands in its portal, and gives none.
    sandbox: null,
  },
  needsSecret: false,
  manner: {
    token: {
      path: '/auth/realms/cooperado/protocol/openid-connect/token',
      credentials: 'id-in-body',
      scopes: standardScopes,
      payoutScopes: ['pixpagamentos_escrita', 'pixpagamentos_consulta', 'pixpagamentos_webhook'],
      balanceScopes: ['cco_consulta'],
    },
    payoutApi: 'sicoob',
    paths: {
      ...under('/pix/api/v2'),
      payout: '/pix-pagamentos/v2/pagamentos',
      payoutWebhook: '/pix-pagamentos/v2/pagamentos/webhook',
      balance: '/conta-corrente/v4/saldo',
    },
    headers: { client_id: '{clientId}' },
  },
  callbackUrlMax: 200,
  sources: [
    'https://docs.softensistemas.com.br/books/siem-boleto/chapter/emissao-sicoob-via-api/export/html',
    'https://www.nuget.org/packages/Sicoob.PIX',
    'https://github.com/frones/ACBr (Fontes/ACBrPIXCD/ACBrPIXPSPSicoob.pas)',
  ],
  unconfirmed: [
    'Answers have brcode in place of pixCopiaECola, and null where the standard has nothing.',
    'How long a list may be asked for at once.',
  ],
})
