import { dialect, under } from './dialect.ts'

export const santander = dialect({
  title: 'Santander',
  ispb: '90400888',
  hosts: {
    production: { baseUrl: 'https://trust-pix.santander.com.br' },
    sandbox: { baseUrl: 'https://trust-pix-h.santander.com.br' },
  },
  profile: {
    // The grant is in the query, id and secret are in the form.
    token: { credentials: 'body', query: { grant_type: 'client_credentials' } },
    paths: under('/api/v1'),
  },
  sources: [
    'https://pt.scribd.com/document/663740670/santander-api-qrcode-user-guide-v009',
    'https://github.com/frones/ACBr (Fontes/ACBrPIXCD/ACBrPIXPSPSantander.pas)',
  ],
  unconfirmed: [
    'Sandbox means its pre-production, which requires a certificate; it also has a sandbox without one, at pix.santander.com.br.',
    'It refuses milliseconds in dates; Guichê sends none to any PSP.',
    'One program can sign its requests with JWS (x-jws-signature); Guichê does not.',
    'The maximum date range of one list request, and how callbacks are sent, are not known.',
  ],
})
