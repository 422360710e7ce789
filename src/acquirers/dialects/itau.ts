import { dialect, under } from './dialect.ts'

export const itau = dialect({
  title: 'Itaú Unibanco',
  ispb: '60701190',
  places: {
    production: { baseUrl: 'https://secure.api.itau', tokenUrl: 'https://sts.itau.com.br/api/oauth/token' },
    // Its sandbox gives tokens in a way of its own and wants them in another header: nothing is proved by it.
    sandbox: null,
  },
  manner: {
    token: { path: '/api/oauth/token', credentials: 'body' },
    paths: under('/pix_recebimentos/v2'),
    // The names differ between the operations. What is not wanted is not looked at.
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
    'A token lives five minutes and the certificate 365 days, which is obtained by a CSR with a temporary token; renewing it is up to the operator.',
    'Newer programs use secure.gateway.api.itau in place of secure.api.itau: set baseUrl where the usual host refuses.',
    'Programs differ in whether production wants x-itau-apikey; it is sent.',
    'How long a list may be asked for at once.',
  ],
})
