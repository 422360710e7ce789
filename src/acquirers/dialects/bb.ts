import { dialect, standardScopes, under } from './dialect.ts'

export const bb = dialect({
  title: 'Banco do Brasil',
  ispb: '00000000',
  hosts: {
    production: { baseUrl: 'https://api-pix.bb.com.br', tokenUrl: 'https://oauth.bb.com.br/oauth/token' },
    sandbox: { baseUrl: 'https://api.hm.bb.com.br', tokenUrl: 'https://oauth.hm.bb.com.br/oauth/token' },
  },
  settings: { appKey: { isRequired: true, what: 'the developer_application_key of the application' } },
  profile: {
    token: { scopes: standardScopes },
    paths: under('/pix/v2'),
    query: { 'gw-dev-app-key': '{appKey}' },
    // The PSP allows five calendar dates, and four days that begin at noon are on five dates.
    list: { daysMax: 4 },
  },
  callbackUrlMax: 140,
  sources: [
    'https://github.com/frones/ACBr (Fontes/ACBrPIXCD/ACBrPIXPSPBancoDoBrasil.pas)',
    'https://github.com/laddertech/pypix-api (pypix_api/banks/bb.py)',
    'https://github.com/Prime-Motor-Sport-Performance/sdk-bb-pix-v2',
    'https://www.abstra.io/docs/tools/connectors/providers/banco-do-brasil',
  ],
  unconfirmed: [
    'That an empty list of Pix is answered with 404, as programs in production report: it is read as empty.',
    'The sandbox’s hosts: the portal of 2025 names api-pix.hm.bb.com.br for calls with a certificate.',
    'That a list may span five days at most; other programs request longer ranges of /pix.',
  ],
})
