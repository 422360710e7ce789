import { dialect, under } from './dialect.ts'

export const bradesco = dialect({
  title: 'Bradesco',
  ispb: '60746948',
  places: {
    production: { baseUrl: 'https://qrpix.bradesco.com.br' },
    sandbox: { baseUrl: 'https://openapisandbox.prebanco.com.br' },
  },
  manner: { token: { path: '/auth/server/oauth/token' }, paths: under('/v2') },
  otherTokenPaths: ['/v2/oauth/token', '/oauth/token'],
  sources: [
    'https://vdocuments.com.br/manual-e-layout-api-pix-200-pix-campos-de-valor-obedecem-ao-format-do-id-54-da.html',
    'https://github.com/frones/ACBr (Fontes/ACBrPIXCD/ACBrPIXPSPBradesco.pas)',
  ],
  unconfirmed: [
    'The token’s address: programs use /v2/oauth/token and /oauth/token too, and acquirer check tries them.',
    'It has resources of its own that answer with the code (cob-emv); the standard’s are used, and the code is built from the location where it is not told.',
    'How long a list may be asked for at once.',
  ],
})
