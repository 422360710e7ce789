import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { type Static, Type } from 'typebox'
import { parseDocument } from '../lib/document.ts'
import { detectPixKey } from '../pix/key.ts'
import { ProtocolProfileOverrides } from './bacen/profile.ts'
import { CallbackSettings } from './callbacks.ts'
import { dialectNames } from './dialects.ts'
import { days } from './routes.ts'

const strict = { additionalProperties: false }
const text = (description = 'a text that is not empty') => Type.String({ minLength: 1, maxLength: 256, description })

/** A secret: as text, in an environment variable, or in a file. */
export type Secret = string | { env: string } | { file: string }
const SecretSchema = Type.Unsafe<Secret>({
  secret: true,
  description: 'a text, { "env": "NAME OF A VARIABLE" } or { "file": "path" }',
})

const url = Type.String({
  format: 'address',
  description: 'an address such as https://pix.example.com, without ? and #',
})
const file = text('the path of a file')
const amount = Type.Integer({ minimum: 0, maximum: 1e12, description: 'a whole number of cents' })

const Fee = Type.Object(
  {
    fixed: Type.Optional(amount),
    basisPoints: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 10_000, description: 'a whole number from 0 to 10000: 119 is 1.19 %' }),
    ),
    minimum: Type.Optional(amount),
    maximum: Type.Optional(
      Type.Unsafe<number | null>({
        type: ['integer', 'null'],
        minimum: 0,
        maximum: 1e12,
        description: 'a whole number of cents, or null',
      }),
    ),
  },
  strict,
)

const Receiver = Type.Object(
  {
    type: Type.Enum(['PF', 'PJ']),
    name: text(),
    document: Type.String({ format: 'document', description: 'a CPF or CNPJ with the right check digits' }),
    bankAccount: Type.Object(
      {
        type: text(),
        branch: text(),
        number: text(),
        digit: text(),
        ispb: Type.String({ pattern: '^[0-9A-Z]{8}$', description: 'the eight digits of the PSP (ISPB)' }),
      },
      strict,
    ),
    pix: Type.Optional(Type.Object({ key: text(), type: Type.Enum(['CPF', 'CNPJ', 'EMAIL', 'PHONE', 'EVP']) }, strict)),
  },
  strict,
)

const Acquirer = Type.Object(
  {
    name: Type.String({
      pattern: '^[a-z0-9-]{1,32}$',
      description: '1 to 32 of a-z, 0-9 and -; records keep the name, so never give it to another account',
    }),
    dialect: Type.Enum(dialectNames),
    environment: Type.Optional(Type.Enum(['production', 'sandbox'])),
    baseUrl: Type.Optional(url),
    tokenUrl: Type.Optional(url),
    clientId: SecretSchema,
    clientSecret: Type.Optional(SecretSchema),
    chave: Type.String({
      format: 'pix-key',
      description: 'the Pix key that charges credit, a CPF, CNPJ, e-mail, phone (+55…) or random key',
    }),
    receiver: Receiver,
    tls: Type.Optional(
      Type.Object(
        {
          pfxFile: Type.Optional(file),
          certFile: Type.Optional(file),
          keyFile: Type.Optional(file),
          caFile: Type.Optional(file),
          passphrase: Type.Optional(SecretSchema),
        },
        strict,
      ),
    ),
    timeoutMs: Type.Optional(
      Type.Integer({ minimum: 500, maximum: 60_000, description: 'a whole number of milliseconds, 500 to 60000' }),
    ),
    callbacks: Type.Optional(CallbackSettings),
    fees: Type.Optional(Type.Object({ payment: Type.Optional(Fee), payout: Type.Optional(Fee) }, strict)),
    settings: Type.Optional(Type.Record(Type.String(), SecretSchema)),
    overrides: Type.Optional(ProtocolProfileOverrides),
  },
  strict,
)

const time = Type.String({ pattern: '^([01]\\d|2[0-3]):[0-5]\\d$|^24:00$', description: 'a time of day such as 08:00' })

const Route = Type.Object(
  {
    clients: Type.Optional(Type.Array(text('the id of a client'), { minItems: 1 })),
    minAmount: Type.Optional(amount),
    maxAmount: Type.Optional(amount),
    days: Type.Optional(Type.Array(Type.Enum([...days]), { minItems: 1 })),
    from: Type.Optional(time),
    to: Type.Optional(time),
    acquirers: Type.Array(
      Type.Object(
        {
          name: text('the name of an acquirer'),
          weight: Type.Optional(Type.Number({ minimum: 0, maximum: 1e6, description: 'a number from 0 on' })),
        },
        strict,
      ),
      { minItems: 1 },
    ),
  },
  strict,
)

const SettingsFile = Type.Object(
  {
    acquirers: Type.Array(Acquirer, { minItems: 1, maxItems: 50 }),
    routes: Type.Optional(Type.Array(Route, { maxItems: 1000 })),
  },
  strict,
)
export type SettingsFile = Static<typeof SettingsFile>
export type AcquirerEntry = SettingsFile['acquirers'][number]
export type RouteEntry = NonNullable<SettingsFile['routes']>[number]

let compiled: ValidateFunction<SettingsFile> | undefined

/** Compiled when a file is read, not at each start: that would take a tenth of it, and the simulator needs no file. */
function compileFile(): ValidateFunction<SettingsFile> {
  const ajv = new Ajv({ allErrors: true, verbose: true, allowUnionTypes: true })
  ajv.addFormat('pix-key', (key) => detectPixKey(key) !== null)
  ajv.addFormat('document', (document) => parseDocument(document) !== null)
  ajv.addFormat('address', isAddress)
  ajv.addKeyword({ keyword: 'secret', validate: (_: true, value: unknown) => isSecret(value) })
  return ajv.compile<SettingsFile>(SettingsFile)
}

export type SettingsError = { path: string; reason: string }

/** Every error of the file's form, with its path (`acquirers[0].tls.pfxFile`). */
export function findErrors(value: unknown): SettingsError[] {
  compiled ??= compileFile()
  compiled(value)
  const errors = (compiled.errors ?? []).map(toSettingsError)
  const seen = new Set<string>()
  // Of several errors at one path, such as a wrong type that also fails a pattern, the first is enough.
  return errors.filter(({ path }) => !seen.has(path) && seen.add(path))
}

/** True when {@link findErrors} has found nothing. */
export function isSettingsFile(value: unknown): value is SettingsFile {
  compiled ??= compileFile()
  return compiled(value)
}

function toSettingsError({ keyword, instancePath, params, parentSchema, message }: ErrorObject): SettingsError {
  const path = toPath(instancePath)
  const at = (name: unknown) => (path === '' ? String(name) : `${path}.${name}`)
  if (keyword === 'required') return { path: at(params.missingProperty), reason: 'is not set' }
  if (keyword === 'additionalProperties') {
    const known = Object.keys(parentSchema?.properties ?? {}).join(', ')
    const reason = known === '' ? 'is not the name of a header or a parameter' : `is not known: allowed are ${known}`
    return { path: at(params.additionalProperty), reason }
  }
  if (keyword === 'enum') return { path, reason: `must be one of ${params.allowedValues.join(', ')}` }
  const description = parentSchema?.description
  return { path, reason: description ? `must be ${description}` : (message ?? 'is not valid') }
}

/** `/acquirers/0/name` → `acquirers[0].name` */
function toPath(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part.replaceAll('~1', '/').replaceAll('~0', '~')}`))
    .join('')
    .replace(/^\./, '')
}

function isAddress(address: string): boolean {
  return /^https?:\/\/[^\s?#]+$/.test(address) && URL.canParse(address)
}

function isSecret(value: unknown): boolean {
  if (typeof value === 'string') return value !== ''
  if (typeof value !== 'object' || value === null) return false
  const [[name, place] = [], ...others] = Object.entries(value)
  return others.length === 0 && (name === 'env' || name === 'file') && typeof place === 'string' && place !== ''
}
