import { dialect, under } from './dialect.ts'

export const itau = dialect({
  title: 'Itaú Unibanco',
  ispb: '60701190',
  hosts: {
    production: { baseUrl: 'https://secure.api.itau', tokenUrl: 'https://sts.itau.com.br/api/oauth/token' },
    // Its sandbox issues tokens in its own way and requires them in another header: a test there proves nothing.
    sandbox: null,
  },
  profile: {
    token: { path: '/api/oauth/token', credentials: 'body' },
    paths: under('/pix_recebimentos/v2'),
    // The name of the correlation header differs between operations, so both are sent: Itaú ignores the other one.
    headers: { 'x-itau-apikey': '{clientId}', 'x-itau-correlationID': '{uuid}', 'x-correlationID': '{uuid}' },
    moneyOutTimeoutMs: 30_000,
  },
  sources: [
    'https://devportal.itau.com.br/autenticacao-documentacao',
    'https://devportal.itau.com.br/certificado-dinamico-credenciais',
    'https://github.com/bacen/pix-api/issues/531',
    'https://github.com/frones/ACBr (Fontes/ACBrPIXCD/ACBrPIXPSPItau.pas)',
  ],
  unconfirmed: [
    'A token lives five minutes.',
    'The certificate lives 365 days, and is issued for a CSR sent with a temporary token. The operator must renew it.',
    'Newer programs use secure.gateway.api.itau instead of secure.api.itau: set baseUrl where the usual host refuses.',
    'Programs disagree on whether production requires x-itau-apikey; Guichê sends it.',
    'The maximum date range of one list request is not known.',
  ],
})
