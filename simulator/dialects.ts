import { plain, type Quirks } from './quirks.ts'

/*
 * Known differences of each PSP from the standard, in 2026. Sources, of which docs/acquirers.md has more:
 * [ACBr] the ACBrPIXCD sources (frones/ACBr, Fontes/ACBrPIXCD, with their change log), a client in wide use in Brazil;
 * [pypix] laddertech/pypix-api, another client;
 * [Efí] dev.efipay.com.br, API Pix; [Inter] developers.inter.co, API Pix v2; [BB] developers.bb.com.br, API Pix v2;
 * [Efí-SDK], [Inter-SDK], [Sicoob-SDK] the PSP's own SDK: efipay/sdk-node-apis-efi, inter-co/pj-sdk-python,
 * Sicoob-Cooperativa/sicoob_sdk_java;
 * [BB-OpenAPI], [Itaú-OpenAPI] a client that was generated from the PSP's OpenAPI document.
 * "Not confirmed" means: reported by clients or recalled from memory, but found in no source.
 */
const differences = {
  generic: {},

  efi: {
    chargesPath: '/v2',
    pixPath: '/v2',
    // [Efí]: Basic with a JSON body.
    tokenBody: 'json',
    // [Efí]: { nome, mensagem }, 409 txid_duplicado.
    errors: 'name',
    repeatedCharge: 'refused',
    webhookStatus: '201',
    // [Efí]: refused where the address answers a call without certificate, unless x-skip-mtls-checking: true.
    testsWebhook: true,
    // [Efí-SDK]: its defence has a text alone, and no id.
    hasDefences: false,
    // [Efí]: gnExtras.tarifa, in the callbacks of an account whose configuration asks for it; 1.19 % is the list price.
    // Its gnExtras.pagador, masked, is not imitated.
    feeBasisPoints: 119,
    // [Efí], [Efí-SDK]: the types of both queries for sent Pix.
    hasMaskedPayouts: true,
    payer: 'none',
  },

  bb: {
    tokenPath: '/oauth/token',
    chargesPath: '/pix/v2',
    pixPath: '/pix/v2',
    tokenBody: 'form',
    isScopeRequired: true,
    // [BB]: ten minutes.
    tokenLifetimeSeconds: 600,
    // [ACBr], [BB]. The answer to a request without it is not confirmed.
    requiredQuery: 'gw-dev-app-key',
    // Reported by clients, not confirmed.
    listDaysMax: 5,
    // [ACBr]: both shapes, with examples.
    errors: 'list',
    // [BB-OpenAPI], [pypix], and programs in production: GET /pix without an entry is 404.
    emptyList: '404',
    // [ACBr]: 200 for a charge (of v1), and for a return since 2023-08.
    chargeStatus: '200',
    returnStatus: '200',
    // [BB]: pagador with nome and cpf or cnpj.
    payer: 'person',
    hasPayouts: false,
    hasDisputes: false,
    balance: 'none',
  },

  itau: {
    tokenPath: '/api/oauth/token',
    chargesPath: '/pix_recebimentos/v2',
    pixPath: '/pix_recebimentos/v2',
    // [ACBr]
    tokenClient: 'body',
    tokenBody: 'form',
    // Five minutes: not confirmed.
    tokenLifetimeSeconds: 300,
    // [Itaú-OpenAPI]: on every operation. The correlation headers are optional, and UUIDs.
    requiredHeader: 'x-itau-apikey',
    // A 422 inside violacoes.razao is reported by clients; its exact text is not confirmed.
    errors: 'wrapped',
    // Reported by clients, not confirmed.
    repeatedWebhook: 'refused',
    payer: 'none',
    hasPayouts: false,
    hasDisputes: false,
    balance: 'none',
  },

  sicredi: {
    // Not confirmed: charges have a version of their own. [ACBr] has v2 for all.
    chargesPath: '/api/v3',
    pixPath: '/api/v2',
    tokenBody: 'form',
    // [ACBr]
    isScopeRequired: true,
    // Clients report a limit; the number is not confirmed.
    tokensPerMinute: 30,
    // [ACBr], 2023-02.
    returnStatus: '200',
    payer: 'none',
    hasPayouts: false,
    hasDisputes: false,
    balance: 'none',
  },

  sicoob: {
    // [ACBr]: a Keycloak. Only the id is sent; the certificate is the secret.
    tokenPath: '/auth/realms/cooperado/protocol/openid-connect/token',
    chargesPath: '/pix/api/v2',
    pixPath: '/pix/api/v2',
    tokenClient: 'id_only',
    tokenBody: 'form',
    isScopeRequired: true,
    // Five minutes: not confirmed.
    tokenLifetimeSeconds: 300,
    // [ACBr]
    requiredHeader: 'client_id',
    // [ACBr]: in 2023-06, 2022-09 and 2022-10, in this order.
    code: 'brcode',
    returnStatus: '200',
    hasNulls: true,
    // Not confirmed.
    payer: 'person',
    // [Sicoob-SDK]: pagamentos-pix/api/openapi.yaml and conta-corrente/api/openapi.yaml.
    payouts: 'sicoob',
    hasDisputes: false,
    balance: 'sicoob',
  },

  inter: {
    // [ACBr]
    tokenPath: '/oauth/v2/token',
    chargesPath: '/pix/v2',
    pixPath: '/pix/v2',
    tokenClient: 'body',
    tokenBody: 'form',
    isScopeRequired: true,
    // [Inter]: 204, https only, and a callback whose body is the list itself.
    webhookStatus: '204',
    isWebhookSecure: true,
    callbackBody: 'list',
    payer: 'none',
    // [Inter-SDK], and [Inter], API Banking v2.
    payouts: 'inter',
    hasDisputes: false,
    balance: 'inter',
  },

  santander: {
    chargesPath: '/api/v1',
    pixPath: '/api/v1',
    // [ACBr]: the grant is in the query, id and secret in the form.
    tokenClient: 'body',
    tokenBody: 'form',
    tokenGrant: 'query_too',
    // Fifteen minutes: not confirmed.
    tokenLifetimeSeconds: 900,
    // [ACBr], 2022-11.
    chargeStatus: '200',
    // [ACBr], 2023-03.
    acceptsMilliseconds: false,
    // Reported by clients, not confirmed.
    code: 'location',
    payer: 'none',
    hasPayouts: false,
    hasDisputes: false,
    balance: 'none',
  },

  bradesco: {
    // [ACBr]. It also answers a charge with a due date with 200, but the simulator has no such charges.
    tokenPath: '/auth/server/oauth/token',
    chargesPath: '/v2',
    pixPath: '/v2',
    tokenBody: 'form',
    payer: 'none',
    hasPayouts: false,
    hasDisputes: false,
    balance: 'none',
  },
} as const satisfies Record<string, Partial<Quirks>>

export type DialectName = keyof typeof differences

export const dialectNames = Object.keys(differences)

export function isDialectName(name: string): name is DialectName {
  return Object.hasOwn(differences, name)
}

/** All quirks of a PSP. */
export function quirksOf(name: DialectName): Quirks {
  return { ...plain, ...differences[name] }
}
