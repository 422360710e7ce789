import Type, { type Static } from 'typebox'
import { Compile } from 'typebox/compile'

/** A schema of named alternatives. */
const oneOf = <Name extends string>(...names: Name[]) => Type.Enum(names)
const orNull = <Schema extends Type.TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])

/**
 * A PSP's differences from the Central Bank's API Pix. Each can be set separately; a dialect (dialects.ts) is a set of
 * them. Most translate requests (decode-request.ts, oauth.ts) and responses (encode-answer.ts) of one and the same PSP.
 * A few change what it does, such as `repeatedCharge` (charges.ts) or `testsWebhook` (webhooks.ts).
 */
const Quirks = Type.Object(
  {
    // Paths. A resource of the standard follows its prefix: /pix/v2/cob/{txid}.
    tokenPath: Type.String({ pattern: '^/' }),
    chargesPath: Type.String({ pattern: '^(/|$)' }),
    /** Prefix of /pix and /webhook. */
    pixPath: Type.String({ pattern: '^(/|$)' }),
    /** Whether there are payouts and disputes: the standard has neither. */
    hasPayouts: Type.Boolean(),
    /** The PSP whose payouts API is used. */
    payouts: oneOf('efi', 'inter', 'sicoob'),
    hasDisputes: Type.Boolean(),
    /** Accepts defences against disputes, which no PSP's public API has in this form. */
    hasDefences: Type.Boolean(),
    /** The balance endpoint. */
    balance: oneOf('none', 'efi', 'inter', 'sicoob'),
    /** The date of a dispute that `inicio` and `fim` select by: Efí's documentation does not say. */
    disputeDates: oneOf('opened', 'changed', 'paid'),
    /** The list of disputes answers 500, as at Efí's sandbox (homologação). */
    isDisputeListOff: Type.Boolean(),

    // Tokens.
    /** How the client authenticates: HTTP Basic, id and secret in the body, or only the id. */
    tokenClient: oneOf('basic', 'body', 'id_only'),
    /** The content type of the request for a token. */
    tokenBody: oneOf('any', 'form', 'json'),
    /** Where `grant_type` is accepted: only in the body, or in the query too. */
    tokenGrant: oneOf('body', 'query_too'),
    isScopeRequired: Type.Boolean(),
    /** Scopes that are silently left out of a token. Requests that need them are refused. */
    deniedScopes: Type.Array(Type.String()),
    tokenLifetimeSeconds: Type.Integer({ minimum: 1 }),
    /** Limit of one client address. */
    tokensPerMinute: orNull(Type.Integer({ minimum: 1 })),

    // Required in every request except that for a token; and the times that a list may name.
    requiredQuery: orNull(Type.String()),
    requiredHeader: orNull(oneOf('client_id', 'x-itau-apikey')),
    acceptsMilliseconds: Type.Boolean(),
    /** The longest period of a list, in days. */
    listDaysMax: orNull(Type.Integer({ minimum: 1 })),

    // Answers.
    /**
     * The form of an error: the standard's problem, Efí's `nome` and `mensagem`, Banco do Brasil's `erros`, or a problem
     * with the actual error as JSON inside `violacoes`.
     */
    errors: oneOf('problem', 'name', 'list', 'wrapped'),
    /** The answer for a list without entries: 200 and an empty list, or 404 and an error. */
    emptyList: oneOf('200', '404'),
    chargeStatus: oneOf('201', '200'),
    returnStatus: oneOf('201', '200'),
    webhookStatus: oneOf('200', '201', '204'),
    /** The answer for the repeat of a charge: the charge, or a refusal. */
    repeatedCharge: oneOf('same', 'refused'),
    /** The field of a charge that has the code; `location`: the charge has only its location. */
    code: oneOf('pixCopiaECola', 'brcode', 'location'),
    /** Fields that the standard omits are null. */
    hasNulls: Type.Boolean(),
    txidCase: oneOf('kept', 'upper'),
    /** What a Pix shows of the payer: the account, name and document, or nothing. */
    payer: oneOf('account', 'person', 'none'),
    /** The PSP's fee of a payment, in basis points. Callbacks name it as `gnExtras.tarifa`. Null: no fee. */
    feeBasisPoints: orNull(Type.Integer({ minimum: 0, maximum: 10_000 })),
    /** True if answers about a payment name the fee too. */
    hasListedFee: Type.Boolean(),
    /**
     * Sent Pix as Efí documents them: a CPF is masked, the receiver's account is left out, and the reason of a
     * rejection is only in callbacks.
     */
    hasMaskedPayouts: Type.Boolean(),

    // Callbacks.
    /** Whether the same address may be registered again for the same key. */
    repeatedWebhook: oneOf('accepted', 'refused'),
    /**
     * Calls the address without a certificate when it is registered, and refuses it if that call is accepted. A client
     * can skip the test with `x-skip-mtls-checking: true`.
     */
    testsWebhook: Type.Boolean(),
    /** A webhook must use https, unless it is on this machine. */
    isWebhookSecure: Type.Boolean(),
    /** Callbacks go to the registered address with `/pix` appended. */
    hasPixSuffix: Type.Boolean(),
    /** The list of payments inside an object, or the list itself. */
    callbackBody: oneOf('object', 'list'),
  },
  { additionalProperties: false },
)
export type Quirks = Static<typeof Quirks>

const quirks = Compile(Quirks)

/** The PSP without a dialect: the standard, with the payer's account, payouts, disputes, defences and balance added. */
export const plain: Quirks = {
  tokenPath: '/oauth/token',
  chargesPath: '',
  pixPath: '',
  hasPayouts: true,
  payouts: 'efi',
  hasDisputes: true,
  hasDefences: true,
  balance: 'efi',
  disputeDates: 'opened',
  isDisputeListOff: false,
  tokenClient: 'basic',
  tokenBody: 'any',
  tokenGrant: 'body',
  isScopeRequired: false,
  deniedScopes: [],
  tokenLifetimeSeconds: 3600,
  tokensPerMinute: null,
  requiredQuery: null,
  requiredHeader: null,
  acceptsMilliseconds: true,
  listDaysMax: null,
  errors: 'problem',
  emptyList: '200',
  chargeStatus: '201',
  returnStatus: '201',
  webhookStatus: '200',
  repeatedCharge: 'same',
  code: 'pixCopiaECola',
  hasNulls: false,
  txidCase: 'kept',
  payer: 'account',
  feeBasisPoints: null,
  hasListedFee: false,
  hasMaskedPayouts: false,
  repeatedWebhook: 'accepted',
  testsWebhook: false,
  isWebhookSecure: false,
  hasPixSuffix: true,
  callbackBody: 'object',
}

/** Changes quirks by `name=value` texts of the command line. The error of an invalid one says what is valid. */
export function changeQuirks(base: Quirks, texts: string[]): Quirks {
  const changed = { ...base, ...Object.fromEntries(texts.map(parseQuirk)) }
  if (quirks.Check(changed)) return changed
  const name = quirks.Errors(changed)[0]?.instancePath.split('/')[1] ?? ''
  throw new Error(`The quirk ${name} does not accept this value. ${describeQuirk(name)}`)
}

/** All names, each with its allowed values. */
export function describeQuirks(): string[] {
  return Object.keys(plain).map(describeQuirk)
}

function parseQuirk(text: string): [string, unknown] {
  const [name = '', ...rest] = text.split('=')
  const value = rest.join('=')
  if (!Object.hasOwn(plain, name) || !text.includes('='))
    throw new Error(`There is no quirk "${text}". Write name=value. The names are:\n  ${describeQuirks().join('\n  ')}`)
  if (name === 'deniedScopes') return [name, value.split(/[\s,]+/).filter(Boolean)]
  const kept = Reflect.get(plain, name)
  const isText = typeof kept === 'string' || name === 'requiredQuery' || name === 'requiredHeader'
  return [name, isText && value !== 'null' ? value : parseScalar(value)]
}

function parseScalar(value: string): unknown {
  const known: Record<string, unknown> = { true: true, false: false, null: null }
  if (Object.hasOwn(known, value)) return known[value]
  return /^\d{1,9}$/.test(value) ? Number(value) : value
}

function describeQuirk(name: string): string {
  const schema: unknown = Reflect.get(Quirks.properties, name)
  return `${name}=${describeSchema(schema)}`
}

function describeSchema(schema: unknown): string {
  const { enum: names, anyOf, type } = Object(schema)
  if (Array.isArray(names)) return names.join('|')
  if (Array.isArray(anyOf)) return anyOf.map(describeSchema).join('|')
  if (type === 'boolean') return 'true|false'
  return type === 'array' ? '<name,name>' : type === 'null' ? 'null' : `<${type}>`
}
