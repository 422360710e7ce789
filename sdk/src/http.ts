import { ConnectionError, GuicheError, RateLimitedError, toError, unexpectedAnswer } from './errors.ts'

/** Every method of a resource but `waitFor` takes these options as its last argument. */
export type RequestOptions = {
  /** Aborts the call, its pauses and its retries. The call then throws the signal's reason. */
  signal?: AbortSignal | undefined
  /** Time limit of one try, in milliseconds. The client's `timeoutMs` by default. */
  timeoutMs?: number | undefined
  /** How many times the call is retried where that is safe. The client's `maxRetries` by default. */
  maxRetries?: number | undefined
}

export type Call = {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Appended to baseUrl. Parts from the caller have been checked. */
  path: string
  query?: object | undefined
  /** Sent as JSON, or as a form if it is one. */
  body?: object | undefined
  idempotencyKey?: string | undefined
  /**
   * True if sending the call twice has the same effect as sending it once, such as a GET or a call with an idempotency
   * key.
   */
  isRepeatable: boolean
  accept?: 'text/csv'
}

export type Settings = {
  baseUrl: string
  timeoutMs: number
  maxRetries: number
  fetch: typeof globalThis.fetch
}

/** Reads what the caller needs from a successful response, within the time limit of the try. */
export type Read<Result> = (response: Response) => Promise<Result>

const firstPauseMs = 500
const longestPauseMs = 8_000
/** If the service asks for a longer wait, the caller gets the error instead. */
const retryAfterMaxSeconds = 60
/** A longer timer fires immediately. */
export const timerMaxMs = 2 ** 31 - 1

/** 408 to 504: the request was refused before it was carried out, or its outcome is unknown. */
const repeatedStatuses = [408, 500, 502, 503, 504]

export const userAgent = 'guiche-sdk/0.1.0'

/**
 * Sends a call, retries it where that is safe and may help, and returns what `read` makes of the successful response.
 */
export async function send<Result>(
  settings: Settings,
  call: Call,
  { token, read, options }: { token: string | null; read: Read<Result>; options: RequestOptions },
): Promise<Result> {
  const maxRetries = options.maxRetries ?? settings.maxRetries
  for (let retry = 0; ; retry += 1) {
    try {
      return await sendOnce(settings, call, { token, read, options })
    } catch (error) {
      options.signal?.throwIfAborted()
      if (retry >= maxRetries || !mayRepeat(call, error)) throw error
      await pause(pauseMs(error, retry), options.signal)
    }
  }
}

/**
 * 128 random bits, for an idempotency key or a request id. `crypto.randomUUID` does not exist on pages without HTTPS.
 */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Waits for a shared promise, unless this caller's own signal aborts. */
export async function unlessAborted<Value>(promise: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (!signal) return await promise
  let stop = () => {}
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

function mayRepeat(call: Call, error: unknown): boolean {
  if (!(error instanceof GuicheError) || (error.retryAfterSeconds ?? 0) > retryAfterMaxSeconds) return false
  // Refused before anything was done, so that any request may be sent again.
  if (error instanceof RateLimitedError) return true
  if (!call.isRepeatable) return false
  // Payouts are frozen until a person ends the freeze.
  if (error.code === 'payouts_stopped') return false
  return error instanceof ConnectionError || repeatedStatuses.includes(error.status ?? 0)
}

/**
 * The pause that the service asks for; else twice the previous one. It is random in part, so that many clients do not
 * retry at the same moment.
 */
function pauseMs(error: unknown, retry: number): number {
  const retryAfter = error instanceof GuicheError ? error.retryAfterSeconds : undefined
  if (retryAfter !== undefined) return retryAfter * 1000 + Math.random() * 100
  return Math.min(longestPauseMs, firstPauseMs * 2 ** retry) * (0.5 + Math.random() / 2)
}

export async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const waited = new Promise<void>((done) => {
    timer = setTimeout(done, ms)
  })
  try {
    await unlessAborted(waited, signal)
  } finally {
    clearTimeout(timer)
  }
}

type Try<Result> = { token: string | null; read: Read<Result>; options: RequestOptions }

async function sendOnce<Result>(
  settings: Settings,
  call: Call,
  { token, read, options }: Try<Result>,
): Promise<Result> {
  const { signal, timeoutMs = settings.timeoutMs } = options
  signal?.throwIfAborted()
  const requestId = newKey()
  // Outside the `try`: the caller has to fix an invalid address. A retry would not help.
  const url = toUrl(settings, call)
  const headers = toHeaders(call, { token, requestId })
  const body = toBody(call)
  const controller = new AbortController()
  const abort = () => controller.abort(signal?.reason)
  signal?.addEventListener('abort', abort, { once: true })
  let isLate = false
  let isReadLater = false
  const timer = setTimeout(
    () => {
      isLate = true
      controller.abort()
    },
    Math.min(timeoutMs, timerMaxMs),
  )
  try {
    const response = await settings.fetch(url, {
      method: call.method,
      headers,
      // Following a redirect would send the credentials along.
      redirect: 'manual',
      signal: controller.signal,
      ...(body !== undefined && { body }),
    })
    if (response.ok) {
      // The caller reads an export after this, and can still abort it.
      isReadLater = call.accept !== undefined
      return await read(response)
    }
    throw toError({
      status: response.status,
      headers: response.headers,
      body: await response.text(),
      idempotencyKey: call.idempotencyKey,
    })
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof GuicheError) throw error
    throw toConnectionError(call, { cause: error, requestId, timeoutMs: isLate ? timeoutMs : null })
  } finally {
    clearTimeout(timer)
    if (!isReadLater) signal?.removeEventListener('abort', abort)
  }
}

/** Reads JSON, or throws `unexpected_answer`. */
export function readJson<Result>({ idempotencyKey }: Call): Read<Result> {
  return async (response) => {
    const body = await response.text()
    try {
      return JSON.parse(body) as Result
    } catch {
      throw unexpectedAnswer(response.status, idempotencyKey)
    }
  }
}

function toUrl({ baseUrl }: Settings, { path, query = {} }: Call): string {
  const search = String(toQuery(query))
  return `${baseUrl}${path}${search && `?${search}`}`
}

/** The filters that are set, as the JSON body of a search. Dates are in ISO 8601. */
export function toSearch(filters: object): object {
  return Object.fromEntries(
    Object.entries(filters).filter(([name, value]) => {
      // Without this check an empty list would be left out, and a caller who asks for nothing would get everything.
      if (Array.isArray(value) && value.length === 0)
        throw new TypeError(`${name} is an empty list. Leave it out to disable the filter.`)
      return value !== undefined && value !== null
    }),
  )
}

/** Lists become repeated parameters, and dates ISO 8601. */
function toQuery(filters: object): URLSearchParams {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(toSearch(filters)))
    for (const one of [value].flat()) query.append(name, one instanceof Date ? one.toISOString() : String(one))
  return query
}

function toBody({ body }: Call): string | URLSearchParams | undefined {
  return body instanceof URLSearchParams ? body : JSON.stringify(body)
}

function toHeaders(call: Call, { token, requestId }: { token: string | null; requestId: string }) {
  const isForm = call.body instanceof URLSearchParams
  return {
    accept: call.accept ?? 'application/json',
    'user-agent': userAgent,
    'x-request-id': requestId,
    ...(call.body && { 'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json' }),
    ...(token !== null && { authorization: `Bearer ${token}` }),
  }
}

type Lost = { cause: unknown; requestId: string; timeoutMs: number | null }

function toConnectionError(call: Call, { cause, requestId, timeoutMs }: Lost): ConnectionError {
  const what =
    timeoutMs === null
      ? 'The service could not be reached, or the connection broke'
      : `No answer within ${timeoutMs} ms`
  const next = !call.isRepeatable
    ? 'It is not known whether the request was carried out. Check before you repeat it.'
    : call.idempotencyKey === undefined
      ? 'Is baseUrl right, and is the service running?'
      : 'It is not known whether the request was carried out. Repeat it with the same idempotencyKey: it is carried out only once.'
  return new ConnectionError({
    code: timeoutMs === null ? 'connection_failed' : 'timeout',
    detail: `${what} (${call.method} ${call.path}). ${next}`,
    requestId,
    idempotencyKey: call.idempotencyKey,
    cause,
  })
}
