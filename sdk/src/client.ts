import { GuicheError, unexpectedAnswer } from './errors.ts'
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

/** What the resources are built on: calls with an access token. */
export type Client = {
  get<Result>(path: string, options: RequestOptions | undefined, query?: object): Promise<Result>
  /** After a lost answer it is repeated only if the call `isRepeatable` or has an idempotency key. */
  post<Result>(path: string, options: RequestOptions | undefined, sent?: Sent): Promise<Result>
  /** Retried: a repeated change has the same effect. */
  patch<Result>(path: string, options: RequestOptions | undefined, body: object): Promise<Result>
  delete(path: string, options: RequestOptions | undefined): Promise<void>
  list<Entry>(path: string, filters: object | undefined, options: RequestOptions | undefined): List<Entry>
  /** All matching records as CSV. The caller reads the body. */
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
      // The request was refused before it was carried out, so any request may be sent again with a new token.
      if (!isTokenRefused(error)) throw error
      tokens.drop(token)
      return await send(settings, call, { token: await getToken(call, options), read, options })
    }
  }

  async function getToken(call: Call, { signal, ...limits }: RequestOptions): Promise<string | null> {
    try {
      return await unlessAborted(tokens.get(limits), signal)
    } catch (error) {
      // All calls that waited for the token get the same error. So each throws a copy with its own idempotency key: an
      // earlier try of the call may have been carried out.
      if (!(error instanceof GuicheError) || call.idempotencyKey === undefined) throw error
      const Class = error.constructor as typeof GuicheError
      throw new Class({ ...error, idempotencyKey: call.idempotencyKey, cause: error.cause })
    }
  }

  return {
    get: (path, options, query) => request({ method: 'GET', path, query, isRepeatable: true }, options),
    post: (path, options, { body, idempotencyKey, isRepeatable = idempotencyKey !== undefined } = {}) =>
      request({ method: 'POST', path, body, idempotencyKey, isRepeatable }, options),
    patch: (path, options, body) => request({ method: 'PATCH', path, body, isRepeatable: true }, options),
    delete: (path, options) =>
      request({ method: 'DELETE', path, isRepeatable: false }, options, async ({ status }) => {
        // A proxy may answer 200 with a page of its own.
        if (status !== 204) throw unexpectedAnswer(status)
      }),
    list: <Entry>(path: string, filters: object = {}, options?: RequestOptions) =>
      new List<Entry>((more) => request<Page<Entry>>(toListCall(path, { ...filters, ...more }), options), filters),
    exportCsv: (path, filters, options) =>
      request({ ...toListCall(path, filters, '.csv'), accept: 'text/csv' }, options, async (response) => {
        if (!response.headers.get('content-type')?.startsWith('text/csv')) throw unexpectedAnswer(response.status)
        return response
      }),
  }
}

/** Filters that identify a person. */
const personal = ['customerName', 'customerEmail', 'customerDocument', 'customerPhone', 'pixKey']

/** Filters go into the query string, except those that identify a person: servers and proxies log URLs. */
function toListCall(path: string, filters: object = {}, format: '' | '.csv' = ''): Call {
  const isPersonal = Object.entries(filters).some(([name, value]) => personal.includes(name) && value !== undefined)
  if (!isPersonal) return { method: 'GET', path: `${path}${format}`, query: filters, isRepeatable: true }
  return { method: 'POST', path: `${path}/search${format}`, body: toSearch(filters), isRepeatable: true }
}

/** An id as a path segment. Anything with other characters is not an id and could change the path. */
export function toSegment(id: string): string {
  if (typeof id === 'string' && /^[\w-]{1,64}$/.test(id)) return id
  throw new TypeError('The id of a record is needed: letters, digits and hyphens.')
}

/**
 * An input with its idempotency key. If the caller gave none, one is made for this call, so that all its tries are one
 * request.
 */
export function withKey<Input extends { idempotencyKey?: string | undefined }>(
  input: Input,
): { body: Input & { idempotencyKey: string }; idempotencyKey: string } {
  const idempotencyKey = input.idempotencyKey ?? newKey()
  return { body: { ...input, idempotencyKey }, idempotencyKey }
}
