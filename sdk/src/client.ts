import { GuicheError } from './errors.ts'
import {
  type Call,
  newKey,
  type RequestOptions,
  readJson,
  type Settings,
  send,
  toSearch,
  unlessAborted,
} from './http.ts'
import { List } from './list.ts'
import { isTokenRefused, type Tokens } from './token.ts'
import type { Page } from './types.ts'

/** What the resources are made of: calls with a token. */
export type Client = {
  get<Result>(path: string, options: RequestOptions | undefined, query?: object): Promise<Result>
  /** Not tried again unless it `isRepeatable` or has an idempotency key. */
  post<Result>(path: string, options: RequestOptions | undefined, sent?: Sent): Promise<Result>
  list<Entry>(path: string, filters: object | undefined, options: RequestOptions | undefined): List<Entry>
  /** All that fit, as CSV; its body is read by the caller. */
  exportCsv(path: string, filters: object | undefined, options: RequestOptions | undefined): Promise<Response>
}

type Sent = { body?: object; idempotencyKey?: string; isRepeatable?: boolean }

export function createClient(settings: Settings, tokens: Tokens): Client {
  async function request<Result>(
    call: Call,
    options: RequestOptions = {},
    read: (response: Response) => Promise<Result> = readJson<Result>(call),
  ): Promise<Result> {
    const token = await getToken(call, options)
    try {
      return await send(settings, call, { token, read, options })
    } catch (error) {
      // Refused before it was carried out: with another token, anything may be sent again.
      if (!isTokenRefused(error)) throw error
      tokens.drop(token)
      return await send(settings, call, { token: await getToken(call, options), read, options })
    }
  }

  async function getToken(call: Call, { signal }: RequestOptions): Promise<string | null> {
    try {
      return await unlessAborted(tokens.get(), signal)
    } catch (error) {
      // It was thrown to all that waited for this token; each is told its own key, since an earlier try may have been carried out.
      if (!(error instanceof GuicheError) || call.idempotencyKey === undefined) throw error
      const Class = error.constructor as typeof GuicheError
      throw new Class({ ...error, idempotencyKey: call.idempotencyKey, cause: error.cause })
    }
  }

  const client: Client = {
    get: (path, options, query) => request({ method: 'GET', path, query, isRepeatable: true }, options),
    post: (path, options, { body, idempotencyKey, isRepeatable = idempotencyKey !== undefined } = {}) =>
      request({ method: 'POST', path, body, idempotencyKey, isRepeatable }, options),
    list: <Entry>(path: string, filters: object = {}, options?: RequestOptions) =>
      new List<Entry>((more) => request<Page<Entry>>(toListCall(path, { ...filters, ...more }), options), filters),
    exportCsv: (path, filters, options) =>
      request({ ...toListCall(path, filters), accept: 'text/csv' }, options, (response) => Promise.resolve(response)),
  }
  return client
}

/** Filters that say who somebody is. */
const personal = ['customerName', 'customerEmail', 'customerDocument', 'customerPhone', 'pixKey']

/** Filters are in the address, unless one says who somebody is: servers and proxies log addresses. */
function toListCall(path: string, filters: object = {}): Call {
  const isPersonal = Object.entries(filters).some(([name, value]) => personal.includes(name) && value !== undefined)
  if (!isPersonal) return { method: 'GET', path, query: filters, isRepeatable: true }
  return { method: 'POST', path: `${path}/search`, body: toSearch(filters), isRepeatable: true }
}

/** An id as part of a path. What has other characters is none, and could name another address. */
export function toSegment(id: string): string {
  if (typeof id === 'string' && /^[\w-]{1,64}$/.test(id)) return id
  throw new TypeError('The id of a record is needed: letters, digits and hyphens.')
}

/** An input with its idempotency key: the caller's, or one made for this call alone, so that its tries are one request. */
export function withKey<Input extends { idempotencyKey?: string | undefined }>(
  input: Input,
): { body: Input & { idempotencyKey: string }; idempotencyKey: string } {
  const idempotencyKey = input.idempotencyKey ?? newKey()
  return { body: { ...input, idempotencyKey }, idempotencyKey }
}
