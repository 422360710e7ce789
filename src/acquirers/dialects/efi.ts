import { dialect, under } from './dialect.ts'

export const efi = dialect({
  title: 'Efí (formerly Gerencianet)',
  ispb: '09089356',
  hosts: {
    production: { baseUrl: 'https://pix.api.efipay.com.br' },
    sandbox: { baseUrl: 'https://pix-h.api.efipay.com.br' },
  },
  settings: {
    skipMtlsChecking: {
      isRequired: false,
      what: 'true: Efí registers an address for callbacks that also accepts calls without a certificate',
    },
  },
  profile: {
    // A token has the scopes of the application; the request names none.
    token: { format: 'json' },
    paths: under('/v2'),
    offers: { payouts: true, disputes: true, balance: 'efi' },
    registrationHeaders: { 'x-skip-mtls-checking': '{skipMtlsChecking}' },
  },
  sources: [
    'https://github.com/efipay/sdk-node-apis-efi',
    'https://github.com/efipay/documentacao-tecnica-efi',
    'https://dev.efipay.com.br/docs/api-pix/credenciais/',
    'https://dev.efipay.com.br/docs/api-pix/gestao-de-pix/',
    'https://dev.efipay.com.br/docs/api-pix/envio-pagamento-pix/',
    'https://dev.efipay.com.br/docs/api-pix/webhooks/',
    'https://dev.efipay.com.br/docs/api-pix/endpoints-exclusivos-efi/',
    'https://github.com/efipay/sdk-node-apis-efi (types of its methods, such as medList)',
  ],
  unconfirmed: [
    'The list of sent Pix: its SDK types a bare list and programs read { pix: […] } with the standard’s paging; Guichê reads both.',
    'Its fee, gnExtras.tarifa, is documented in callbacks only: where no list has it, fees are not compared.',
    'Why a bank rejected a payout is documented in callbacks only (gnExtras.erro): the reason may be missing.',
    'Whether saldo excludes the sums in bloqueios: read as if it did, since the documentation calls it the usable balance.',
    'The maximum date range of one list request is not known.',
    'Disputes (MED): the list is switched off in homologation, so it follows the documentation alone. Which date its inicio and fim are compared with is not documented; Guichê chooses the range so that any will do. What follows ACEITA, and when, appears only in the payment.',
    'Defences: its SDK has POST /v2/gn/infracoes/{id}/defesa with a text, no files and no id of ours, so a lost answer cannot be repeated safely. Guichê does not use it: the merchant or the operator hands the defence in.',
  ],
})
