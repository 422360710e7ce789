import { dialect, under } from './dialect.ts'

export const efi = dialect({
  title: 'Efí (formerly Gerencianet)',
  ispb: '09089356',
  places: {
    production: { baseUrl: 'https://pix.api.efipay.com.br' },
    sandbox: { baseUrl: 'https://pix-h.api.efipay.com.br' },
  },
  settings: {
    skipMtlsChecking: {
      isRequired: false,
      what: 'true: Efí registers an address for callbacks that takes calls without a certificate too',
    },
  },
  manner: {
    // Its scopes are those of the application; none are named in the request.
    token: { format: 'json' },
    paths: under('/v2'),
    offers: { payouts: true, infractions: true, balance: 'efi' },
    registrationHeaders: { 'x-skip-mtls-checking': '{skipMtlsChecking}' },
  },
  sources: [
    'https://dev.efipay.com.br/docs/api-pix/credenciais/',
    'https://dev.efipay.com.br/docs/api-pix/gestao-de-pix/',
    'https://dev.efipay.com.br/docs/api-pix/envio-pagamento-pix/',
    'https://dev.efipay.com.br/docs/api-pix/webhooks/',
    'https://dev.efipay.com.br/docs/api-pix/endpoints-exclusivos-efi/',
  ],
  unconfirmed: [
    'The list of sent Pix: its documentation shows entries and not the list around them; read as { pix: […] } with the standard’s paging, or as a bare list.',
    'gnExtras.tarifa, the fee that it kept, is not in the documentation of every resource.',
    'Whether saldo leaves out what bloqueios names: read as if it did, since it is called what may be used.',
    'How long a list may be asked for at once.',
  ],
})
