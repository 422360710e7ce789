import { dialect, under } from './dialect.ts'

export const santander = dialect({
  title: 'Santander',
  ispb: '90400888',
  places: {
    production: { baseUrl: 'https://trust-pix.santander.com.br' },
    sandbox: { baseUrl: 'https://trust-pix-h.santander.com.br' },
  },
  manner: {
    // The grant stands in the address, id and secret in the form.
    token: { credentials: 'body', query: { grant_type: 'client_credentials' } },
    paths: under('/api/v1'),
  },
  sources: [
    'https://pt.scribd.com/document/663740670/santander-api-qrcode-user-guide-v009',
    'https://github.com/frones/ACBr (Fontes/ACBrPIXCD/ACBrPIXPSPSantander.pas)',
  ],
  unconfirmed: [
    'Sandbox stands for its pre-production, which wants a certificate; it has a sandbox without one at pix.santander.com.br.',
    'It refuses milliseconds in dates; none are sent to anybody.',
    'Requests signed with JWS (x-jws-signature) are optional in a program; it is not done here.',
    'How long a list may be asked for at once, and how callbacks come.',
  ],
})
