import { dialect, standardScopes } from './dialect.ts'

export const sicredi = dialect({
  title: 'Sicredi',
  ispb: '01181521',
  hosts: {
    production: { baseUrl: 'https://api-pix.sicredi.com.br' },
    sandbox: { baseUrl: 'https://api-pix-h.sicredi.com.br' },
  },
  profile: {
    token: { scopes: standardScopes },
    // Charges have a newer version than everything else.
    paths: { cob: '/api/v3/cob', pix: '/api/v2/pix', webhook: '/api/v2/webhook' },
  },
  sources: [
    'https://github.com/laddertech/pypix-api (docs/Sicredi, after Sicredi’s guide 1.9.5)',
    'https://developer.sicredi.com.br/api-portal/pt-br/content/nova-documentacao',
    'https://github.com/frones/ACBr (Fontes/ACBrPIXCD/ACBrPIXPSPSicredi.pas)',
    'https://github.com/raphaelvserafim/api-sicredi-pix',
  ],
  unconfirmed: [
    'Some programs use /api/v2/cob for charges: set overrides.paths.cob if v3 does not exist.',
    'It blocks an IP address that requests too many tokens; how many, and for how long, is not documented.',
    'Its guide does not name pix.write, which refunds need. It answers 400 to a request for a scope not granted.',
    'The maximum date range of one list request is not known.',
  ],
})
