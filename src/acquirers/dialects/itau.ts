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
    headers: { 'x-correlationID': '{uuid}' },
  },
  sources: [
    'https://devportal.itau.com.br/autenticacao-documentacao',
    'https://devportal.itau.com.br/certificado-dinamico-credenciais',
    'https://github.com/frones/ACBr (Fontes/ACBrPIXCD/ACBrPIXPSPItau.pas)',
  ],
  unconfirmed: [
    'The token’s address: programs name https://sts.itau.com.br/as/token.oauth2 too.',
    'A token lives five minutes and the certificate 365 days, which is obtained by a CSR with a temporary token; renewing it is up to the operator.',
    'Programs name secure.gateway.api.itau as another host.',
  ],
})
