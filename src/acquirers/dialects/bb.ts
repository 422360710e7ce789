import { dialect, standardScopes, under } from './dialect.ts'

export const bb = dialect({
  title: 'Banco do Brasil',
  ispb: '00000000',
  places: {
    production: { baseUrl: 'https://api-pix.bb.com.br', tokenUrl: 'https://oauth.bb.com.br/oauth/token' },
    sandbox: { baseUrl: 'https://api.hm.bb.com.br', tokenUrl: 'https://oauth.hm.bb.com.br/oauth/token' },
  },
  settings: { appKey: { isRequired: true, what: 'the developer_application_key of the application' } },
  manner: {
    token: { scopes: standardScopes },
    paths: under('/pix/v2'),
    query: { 'gw-dev-app-key': '{appKey}' },
    list: { daysMax: 4 },
  },
  callbackUrlMax: 140,
  sources: [
    'https://github.com/frones/ACBr (Fontes/ACBrPIXCD/ACBrPIXPSPBancoDoBrasil.pas)',
    'https://www.abstra.io/docs/tools/connectors/providers/banco-do-brasil',
  ],
  unconfirmed: [
    'The hosts: programs name api.bb.com.br too for production, and api-pix.hm.bb.com.br with oauth.sandbox.bb.com.br for tests with a certificate.',
    'That a list may be asked for five days at most.',
    'The sandbox tells the code as textoImagemQRcode in some versions.',
  ],
})
