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
    // The header's name differs between operations. Itaú ignores the other one.
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
    'A token lives five minutes. The certificate lives 365 days and is obtained by a CSR with a temporary token; the operator renews it.',
    'Newer programs use secure.gateway.api.itau instead of secure.api.itau: set baseUrl where the usual host refuses.',
    'Programs disagree on whether production requires x-itau-apikey; Guichê sends it.',
    'How long a range a list may span.',
  ],
})
