import { dialect, under } from './dialect.ts'

export const bradesco = dialect({
  title: 'Bradesco',
  ispb: '60746948',
  hosts: {
    production: { baseUrl: 'https://qrpix.bradesco.com.br' },
    sandbox: { baseUrl: 'https://openapisandbox.prebanco.com.br' },
  },
  profile: { token: { path: '/auth/server/oauth/token' }, paths: under('/v2') },
  otherTokenPaths: ['/v2/oauth/token', '/oauth/token'],
  sources: [
    'https://vdocuments.com.br/manual-e-layout-api-pix-200-pix-campos-de-valor-obedecem-ao-format-do-id-54-da.html',
    'https://github.com/frones/ACBr (Fontes/ACBrPIXCD/ACBrPIXPSPBradesco.pas)',
  ],
  unconfirmed: [
    'The token’s address: programs also use /v2/oauth/token and /oauth/token, and acquirer check tries them.',
    'Bradesco also has endpoints of its own that return the copy-and-paste code (cob-emv). Guichê uses the standard endpoints, and builds the code from the location if the answer has none.',
    'The maximum date range of one list request is not known.',
  ],
})
