import { dialect, standardScopes } from './dialect.ts'

export const sicredi = dialect({
  title: 'Sicredi',
  ispb: '01181521',
  places: {
    production: { baseUrl: 'https://api-pix.sicredi.com.br' },
    sandbox: { baseUrl: 'https://api-pix-h.sicredi.com.br' },
  },
  manner: {
    token: { scopes: standardScopes },
    // Charges are a version ahead of all else.
    paths: { cob: '/api/v3/cob', pix: '/api/v2/pix', webhook: '/api/v2/webhook' },
  },
  sources: [
    'https://github.com/laddertech/pypix-api (docs/Sicredi, after Sicredi’s guide 1.9.5)',
    'https://developer.sicredi.com.br/api-portal/pt-br/content/nova-documentacao',
    'https://github.com/frones/ACBr (Fontes/ACBrPIXCD/ACBrPIXPSPSicredi.pas)',
    'https://github.com/raphaelvserafim/api-sicredi-pix',
  ],
  unconfirmed: [
    'Programs ask for charges under /api/v2/cob too: set overrides.paths.cob if v3 is not there.',
    'It blocks an address that asks for too many tokens; how many, and for how long, is not told.',
    'Its guide does not name pix.write, which refunds need: what is not granted is answered 400 there.',
    'How long a list may be asked for at once.',
  ],
})
