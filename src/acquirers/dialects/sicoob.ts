import { dialect, standardScopes, under } from './dialect.ts'

export const sicoob = dialect({
  title: 'Sicoob',
  ispb: '02038232',
  hosts: {
    production: {
      baseUrl: 'https://api.sicoob.com.br',
      tokenUrl: 'https://auth.sicoob.com.br/auth/realms/cooperado/protocol/openid-connect/token',
    },
    // Its sandbox uses a fixed token shown in its portal, and issues none.
    sandbox: null,
  },
  needsSecret: false,
  profile: {
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
    'https://github.com/Sicoob-Cooperativa/sicoob_sdk_java (pix, pagamentos-pix, conta-corrente: api/openapi.yaml)',
    'https://docs.softensistemas.com.br/books/siem-boleto/chapter/emissao-sicoob-via-api/export/html',
    'https://www.nuget.org/packages/Sicoob.PIX',
    'https://github.com/frones/ACBr (Fontes/ACBrPIXCD/ACBrPIXPSPSicoob.pas)',
  ],
  unconfirmed: [
    'The maximum date range of one list request is not known.',
    'Payouts: the scopes are those of the document’s security scheme; its operations name cco_transferencias and cco_consulta.',
    'Payouts: whether NÃO_REALIZADO is also the state of a payout that was begun and not confirmed; Guichê confirms it again at each check, under the same id.',
    'Whether saldo of the balance excludes saldoBloqueado: read as if it did.',
  ],
})
