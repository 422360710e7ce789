import Type, { type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { hasForbiddenCharacters } from '../src/lib/text.ts'
import type { Violation } from './http.ts'

// From the Central Bank's OpenAPI, with the anchors that its patterns lack.
const txidPattern = /^[a-zA-Z0-9]{26,35}$/
const ownIdPattern = /^[a-zA-Z0-9]{1,35}$/
const endToEndIdPattern = /^[a-zA-Z0-9]{32}$/
const dateTimePattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i
const amountPattern = '^(?!0{1,10}\\.00$)\\d{1,10}\\.\\d{2}$'
const int32Max = 2_147_483_647

const Debtor = Type.Union([
  Type.Object({ cpf: Type.String({ pattern: '^\\d{11}$' }), nome: Type.String({ minLength: 1, maxLength: 200 }) }),
  Type.Object({
    cnpj: Type.String({ pattern: '^[0-9A-Z]{14}$' }),
    nome: Type.String({ minLength: 1, maxLength: 200 }),
  }),
])

/** CobSolicitada, without what this PSP does not offer: `loc` and cash withdrawals. */
const ChargeRequest = Type.Object({
  calendario: Type.Object({ expiracao: Type.Optional(Type.Integer({ minimum: 1, maximum: int32Max })) }),
  devedor: Type.Optional(Debtor),
  valor: Type.Object({
    original: Type.String({ pattern: amountPattern }),
    modalidadeAlteracao: Type.Optional(Type.Integer({ minimum: 0, maximum: 1 })),
    retirada: Type.Optional(Type.Never()),
  }),
  loc: Type.Optional(Type.Never()),
  chave: Type.String({ maxLength: 77 }),
  solicitacaoPagador: Type.Optional(Type.String({ maxLength: 140 })),
  infoAdicionais: Type.Optional(
    Type.Array(Type.Object({ nome: Type.String({ maxLength: 50 }), valor: Type.String({ maxLength: 200 }) }), {
      maxItems: 50,
    }),
  ),
})
export type ChargeRequest = Static<typeof ChargeRequest>

const chargeRequest = Compile(ChargeRequest)

/** DevolucaoSolicitada, without RETIRADA: this PSP has no cash withdrawals. */
const ReturnRequest = Type.Object({
  valor: Type.String({ pattern: amountPattern }),
  natureza: Type.Optional(Type.Enum(['ORIGINAL'])),
  descricao: Type.Optional(Type.String({ maxLength: 140 })),
})
export type ReturnRequest = Static<typeof ReturnRequest>

const returnRequest = Compile(ReturnRequest)

/** Efí's payout request, without the fields that name an account instead of a key. */
const PayoutRequest = Type.Object({
  valor: Type.String({ pattern: amountPattern }),
  pagador: Type.Object({
    chave: Type.String({ maxLength: 77 }),
    infoPagador: Type.Optional(Type.String({ maxLength: 140 })),
  }),
  favorecido: Type.Object({ chave: Type.String({ minLength: 1, maxLength: 77 }) }),
})
export type PayoutRequest = Static<typeof PayoutRequest>

const payoutRequest = Compile(PayoutRequest)

export function isTxid(text: string): boolean {
  return txidPattern.test(text)
}

/** The client's id of a return or a payout. */
export function isReturnOrPayoutId(text: string): boolean {
  return ownIdPattern.test(text)
}

export function isEndToEndIdShape(text: string): boolean {
  return endToEndIdPattern.test(text)
}

/** The charge, or the violations of the standard's rules in the body. */
export function parseChargeRequest(body: unknown, receiverKey: string): ChargeRequest | Violation[] {
  if (!chargeRequest.Check(body)) return chargeRequest.Errors(body).flatMap((error) => toViolations('cob', error))
  const texts = [
    body.solicitacaoPagador,
    body.devedor?.nome,
    ...(body.infoAdicionais ?? []).flatMap((i) => [i.nome, i.valor]),
  ]
  if (texts.some((text) => text !== undefined && hasForbiddenCharacters(text))) {
    return [{ razao: 'Um texto contém caracteres de controle.', propriedade: 'cob' }]
  }
  if (body.chave !== receiverKey) {
    const razao = 'O campo cob.chave corresponde a uma conta que não pertence a este usuário recebedor.'
    return [{ razao, propriedade: 'cob.chave' }]
  }
  return body
}

/** The return, or the violations of the standard's rules in the body. */
export function parseReturnRequest(body: unknown): ReturnRequest | Violation[] {
  if (!returnRequest.Check(body)) return returnRequest.Errors(body).flatMap((error) => toViolations('devolucao', error))
  return hasControlCharacters(body.descricao) ? [controlCharacters('devolucao.descricao')] : body
}

/** The payout, or the violations of the rules in the body. */
export function parsePayoutRequest(body: unknown): PayoutRequest | Violation[] {
  if (!payoutRequest.Check(body)) return payoutRequest.Errors(body).flatMap((error) => toViolations('pix', error))
  return hasControlCharacters(body.pagador.infoPagador) ? [controlCharacters('pix.pagador.infoPagador')] : body
}

function hasControlCharacters(text: string | undefined): boolean {
  return text !== undefined && hasForbiddenCharacters(text)
}

function controlCharacters(propriedade: string): Violation {
  return { razao: 'Um texto contém caracteres de controle.', propriedade }
}

/** A valid callback address, or null. */
export function parseWebhookUrl(body: unknown): string | null {
  if (!isRecord(body) || typeof body.webhookUrl !== 'string' || body.webhookUrl.length > 2048) return null
  if (!URL.canParse(body.webhookUrl)) return null
  return /^https?:$/.test(new URL(body.webhookUrl).protocol) ? body.webhookUrl : null
}

/** A date and time with its offset (RFC 3339), or null. */
export function parseDateTime(text: string | undefined): Date | null {
  if (text === undefined || !dateTimePattern.test(text)) return null
  const date = new Date(text)
  return Number.isNaN(date.getTime()) ? null : date
}

/** A whole number in [min, max]; the default if absent; null if invalid. */
export function parseCount(
  text: string | undefined,
  limits: { min: number; max: number; absent: number },
): number | null {
  if (text === undefined) return limits.absent
  if (!/^\d{1,9}$/.test(text)) return null
  const value = Number(text)
  return value >= limits.min && value <= limits.max ? value : null
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function toViolations(root: string, error: { keyword: string; instancePath: string; params: object }): Violation[] {
  const path = `${root}${error.instancePath.replaceAll('/', '.')}`
  if (!('requiredProperties' in error.params) || !Array.isArray(error.params.requiredProperties)) {
    return [{ razao: `O campo ${path} não respeita o schema.`, propriedade: path }]
  }
  return error.params.requiredProperties.map((name) => ({
    razao: `O campo ${path}.${name} é obrigatório.`,
    propriedade: `${path}.${name}`,
  }))
}
