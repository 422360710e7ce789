import { type Static, Type } from 'typebox'

const Path = Type.String({ pattern: '^/[^?#\\s]*[^?#\\s/]$', description: 'a path such as /pix/v2/cob' })
const strict = { additionalProperties: false }
const Texts = Type.Record(
  Type.String({ pattern: '^[A-Za-z0-9._-]{1,64}$' }),
  Type.String({ pattern: '^[ -~]{0,256}$', description: 'a text without accents' }),
  strict,
)

/** The fields, with their form in a settings file. */
const fields = {
  token: {
    /** Under the base URL, unless the PSP has another host for tokens. */
    path: Path,
    /**
     * Where client id and secret go: HTTP Basic, the body, or only the id in the body where a certificate is the
     * secret.
     */
    credentials: Type.Enum(['basic', 'body', 'id-in-body']),
    format: Type.Enum(['form', 'json']),
    /** The scopes to request; empty: the request names none, and the PSP decides. */
    scopes: Type.Array(Type.String({ pattern: '^[!-~]+$' })),
    /** Requested as well if the profile offers payouts, or the balance, and `scopes` is not empty. */
    payoutScopes: Type.Array(Type.String({ pattern: '^[!-~]+$' })),
    balanceScopes: Type.Array(Type.String({ pattern: '^[!-~]+$' })),
    query: Texts,
  },
  paths: {
    cob: Path,
    pix: Path,
    webhook: Path,
    /** Beyond the standard: Efí's, Inter's or Sicoob's payouts. */
    payout: Path,
    /** Where Inter and Sicoob register the address for callbacks about payouts. */
    payoutWebhook: Path,
    /** Where Efí's payouts are read. */
    sentPix: Path,
    disputes: Path,
    balance: Path,
  },
  /** Beyond the standard. */
  offers: {
    payouts: Type.Boolean(),
    disputes: Type.Boolean(),
    /** Defences against disputes, in the form of the simulator (`hasDefences` in docs/simulator.md). */
    defences: Type.Boolean(),
    /** The form in which it reports the account's balance. */
    balance: Type.Enum(['none', 'efi', 'inter', 'sicoob']),
  },
  /** The PSP whose payout API it has. */
  payoutApi: Type.Enum(['efi', 'inter', 'sicoob']),
  /** On every call; `{uuid}` is a new one each time. */
  headers: Texts,
  query: Texts,
  /** When the address for callbacks is registered. */
  registrationHeaders: Texts,
  /** Which optional fields of a charge it takes: `devedor`, `solicitacaoPagador`, `infoAdicionais`. */
  charge: { payer: Type.Boolean(), message: Type.Boolean(), details: Type.Boolean() },
  /** The minimum time-out of a request that sends money, even if `timeoutMs` is shorter. */
  moneyOutTimeoutMs: Type.Integer({ minimum: 0, maximum: 60_000, description: 'a whole number from 0 to 60000' }),
  list: {
    pageSize: Type.Integer({ minimum: 1, maximum: 1000, description: 'a whole number from 1 to 1000' }),
    /** A longer range is requested in parts; null: a range may have any length. */
    daysMax: Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      minimum: 1,
      maximum: 366,
      description: 'a whole number of days from 1 to 366, or null',
    }),
  },
}

const { token, paths, offers, payoutApi, headers, query, registrationHeaders, charge, moneyOutTimeoutMs, list } = fields

/** How a PSP implements the Central Bank's API Pix: the differences between PSPs, as data. */
export const ProtocolProfile = Type.Object({
  token: Type.Object(token),
  paths: Type.Object(paths),
  offers: Type.Object(offers),
  payoutApi,
  headers,
  query,
  registrationHeaders,
  charge: Type.Object(charge),
  moneyOutTimeoutMs,
  list: Type.Object(list),
})
export type ProtocolProfile = Static<typeof ProtocolProfile>

/** The fields that a settings file may override, one by one. */
export const ProtocolProfileOverrides = Type.Partial(
  Type.Object({
    token: Type.Partial(Type.Object(token), strict),
    paths: Type.Partial(Type.Object(paths), strict),
    offers: Type.Partial(Type.Object(offers), strict),
    payoutApi,
    headers,
    query,
    registrationHeaders,
    charge: Type.Partial(Type.Object(charge), strict),
    moneyOutTimeoutMs,
    list: Type.Partial(Type.Object(list), strict),
  }),
  strict,
)
export type ProtocolProfileOverrides = Static<typeof ProtocolProfileOverrides>

/** The defaults where the standard says nothing, as most PSPs have them. */
export const standardProfile: ProtocolProfile = {
  token: {
    path: '/oauth/token',
    credentials: 'basic',
    format: 'form',
    scopes: [],
    payoutScopes: ['gn.pix.send', 'gn.pix.send.read'],
    balanceScopes: ['gn.balance.read'],
    query: {},
  },
  paths: {
    cob: '/cob',
    pix: '/pix',
    webhook: '/webhook',
    payout: '/v3/gn/pix',
    payoutWebhook: '/webhook/pix-pagamento',
    sentPix: '/v2/gn/pix/enviados',
    disputes: '/v2/gn/infracoes',
    balance: '/v2/gn/saldo',
  },
  offers: { payouts: false, disputes: false, defences: false, balance: 'none' },
  payoutApi: 'efi',
  headers: {},
  query: {},
  registrationHeaders: {},
  charge: { payer: true, message: true, details: true },
  moneyOutTimeoutMs: 0,
  list: { pageSize: 100, daysMax: null },
}

export function withOverrides(profile: ProtocolProfile, overrides: ProtocolProfileOverrides): ProtocolProfile {
  return {
    token: { ...profile.token, ...overrides.token },
    paths: { ...profile.paths, ...overrides.paths },
    offers: { ...profile.offers, ...overrides.offers },
    payoutApi: overrides.payoutApi ?? profile.payoutApi,
    headers: { ...profile.headers, ...overrides.headers },
    query: { ...profile.query, ...overrides.query },
    registrationHeaders: { ...profile.registrationHeaders, ...overrides.registrationHeaders },
    charge: { ...profile.charge, ...overrides.charge },
    moneyOutTimeoutMs: overrides.moneyOutTimeoutMs ?? profile.moneyOutTimeoutMs,
    list: { ...profile.list, ...overrides.list },
  }
}

/** The scopes to request with a token; none where the PSP grants those of the application. */
export function scopesOf({ token, offers }: ProtocolProfile): string[] {
  if (token.scopes.length === 0) return []
  const payouts = offers.payouts ? token.payoutScopes : []
  const balance = offers.balance === 'none' ? [] : token.balanceScopes
  return [...new Set([...token.scopes, ...payouts, ...balance])]
}

/** The same with `{name}` replaced in headers and queries. A header or parameter whose value is missing is left out. */
export function fillPlaceholders(
  profile: ProtocolProfile,
  values: Record<string, string | undefined>,
): ProtocolProfile {
  const all = { ...values, uuid: '{uuid}' }
  return {
    ...profile,
    token: { ...profile.token, query: fill(profile.token.query, all) },
    headers: fill(profile.headers, all),
    query: fill(profile.query, all),
    registrationHeaders: fill(profile.registrationHeaders, all),
  }
}

function fill(texts: Record<string, string>, values: Record<string, string | undefined>): Record<string, string> {
  const entries = Object.entries(texts).filter(([, text]) =>
    [...text.matchAll(placeholder)].every(([, name = '']) => values[name] !== undefined),
  )
  return Object.fromEntries(
    entries.map(([name, text]) => [name, text.replace(placeholder, (_, value) => values[value] ?? '')]),
  )
}

const placeholder = /\{(\w+)\}/g
