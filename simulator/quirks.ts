import Type, { type Static } from 'typebox'
import { Compile } from 'typebox/compile'

/** One of some texts, for what is known under a name. */
const oneOf = <Name extends string>(...names: Name[]) => Type.Enum(names)
const orNull = <Schema extends Type.TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])

/**
 * In what a PSP differs from the Central Bank's API Pix. Each can be set by itself; a dialect (dialects.ts) is a set of them.
 * They act on the way in (hear.ts, oauth.ts) and on the way out (speak.ts): behind them the PSP is the same for all.
 */
const Quirks = Type.Object(
  {
    // Places. A resource of the standard stands behind its prefix: /pix/v2/cob/{txid}.
    tokenPath: Type.String({ pattern: '^/' }),
    chargesPath: Type.String({ pattern: '^(/|$)' }),
    /** Of /pix and /webhook. */
    pixPath: Type.String({ pattern: '^(/|$)' }),
    /** Beyond the standard, as Efí has them. */
    hasPayouts: Type.Boolean(),
    /** Whose API of payouts it is. */
    payouts: oneOf('efi', 'inter', 'sicoob'),
    hasInfractions: Type.Boolean(),
    /** How the balance of the account is told. */
    balance: oneOf('none', 'efi', 'inter', 'sicoob'),
    /** Which date of a dispute `inicio` and `fim` are compared with: Efí's documentation does not say. */
    infractionDates: oneOf('opened', 'changed', 'paid'),
    /** The list of disputes is answered 500, as Efí does in homologation. */
    isInfractionListOff: Type.Boolean(),

    // Tokens.
    /** Where the client shows who it is: HTTP Basic, id and secret in the body, or the id alone. */
    tokenClient: oneOf('basic', 'body', 'id_only'),
    tokenBody: oneOf('any', 'form', 'json'),
    /** Where `grant_type` may stand: within the body, or in the query too. */
    tokenGrant: oneOf('body', 'query_too'),
    isScopeRequired: Type.Boolean(),
    /** Scopes that are left out of a token without a word, and without which their requests are refused. */
    deniedScopes: Type.Array(Type.String()),
    tokenLifetimeSeconds: Type.Integer({ minimum: 1 }),
    /** Of one address. */
    tokensPerMinute: orNull(Type.Integer({ minimum: 1 })),

    // What each request must bring along.
    requiredQuery: orNull(Type.String()),
    requiredHeader: orNull(oneOf('client_id', 'x-itau-apikey')),
    acceptsMilliseconds: Type.Boolean(),
    /** How long the time may be that a list is asked for. */
    listDaysMax: orNull(Type.Integer({ minimum: 1 })),

    // Answers.
    errors: oneOf('problem', 'name', 'list', 'wrapped'),
    /** What a list without entries is answered with: 200 and an empty list, or 404 and an error. */
    emptyList: oneOf('200', '404'),
    chargeStatus: oneOf('201', '200'),
    returnStatus: oneOf('201', '200'),
    webhookStatus: oneOf('200', '201', '204'),
    /** What the repeat of a charge is answered with: the charge, or a refusal. */
    repeatedCharge: oneOf('same', 'refused'),
    /** Where a charge tells its code, or that its location is all that it tells. */
    code: oneOf('pixCopiaECola', 'brcode', 'location'),
    /** Null stands where the standard leaves out. */
    hasNulls: Type.Boolean(),
    txidCase: oneOf('kept', 'upper'),
    /** How much a Pix tells of who paid: the account, name and document, or nothing. */
    payer: oneOf('account', 'person', 'none'),
    /** What the PSP keeps of a payment and names as `gnExtras.tarifa`, in callbacks; null: nothing. */
    feeBasisPoints: orNull(Type.Integer({ minimum: 0, maximum: 10_000 })),
    /** Whether answers about a payment name the fee as well. */
    hasListedFee: Type.Boolean(),
    /** Sent Pix as Efí documents them: the document masked, no bank code or check digit, the reason of a rejection in callbacks only. */
    hasMaskedPayouts: Type.Boolean(),

    // Callbacks.
    /** What becomes of the same address for the same key a second time. */
    repeatedWebhook: oneOf('accepted', 'refused'),
    /** Calls the address without a certificate when it is registered, and takes it only if that is refused. */
    testsWebhook: Type.Boolean(),
    /** A webhook must be https, unless it is on this machine. */
    isWebhookSecure: Type.Boolean(),
    hasPixSuffix: Type.Boolean(),
    callbackBody: oneOf('object', 'list'),
  },
  { additionalProperties: false },
)
export type Quirks = Static<typeof Quirks>

const quirks = Compile(Quirks)

/** The PSP as it is without a dialect: the standard, with the payer's account, payouts and infractions beyond it. */
export const plain: Quirks = {
  tokenPath: '/oauth/token',
  chargesPath: '',
  pixPath: '',
  hasPayouts: true,
  payouts: 'efi',
  hasInfractions: true,
  balance: 'efi',
  infractionDates: 'opened',
  isInfractionListOff: false,
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

/** Changes quirks by `name=value` texts, as the command line has them. Throws an error that says what would be right. */
export function changeQuirks(base: Quirks, texts: string[]): Quirks {
  const changed = { ...base, ...Object.fromEntries(texts.map(parseQuirk)) }
  if (quirks.Check(changed)) return changed
  const name = quirks.Errors(changed)[0]?.instancePath.split('/')[1] ?? ''
  throw new Error(`The quirk ${name} cannot be that. ${describeQuirk(name)}`)
}

/** The names of all, each with what it can be. */
export function describeQuirks(): string[] {
  return Object.keys(plain).map(describeQuirk)
}

function parseQuirk(text: string): [string, unknown] {
  const [name = '', ...rest] = text.split('=')
  const value = rest.join('=')
  if (!Object.hasOwn(plain, name) || !text.includes('='))
    throw new Error(`There is no quirk "${text}". Write name=value; the names are:\n  ${describeQuirks().join('\n  ')}`)
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
