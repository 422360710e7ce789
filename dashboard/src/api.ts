import { Guiche, GuicheError } from '@guiche/sdk'
import { type FieldError, writeFieldError } from './field-errors.ts'
import type { SignedOut } from './types.ts'

/** An error of the dashboard's own API: its error response, no response (status 0), or the response of a proxy. */
export class ApiError extends Error {
  readonly code: string
  readonly status: number
  readonly fieldErrors: readonly FieldError[]
  readonly requestId: string | null

  constructor(
    status: number,
    problem: Partial<{ code: string; detail: string; title: string; errors: FieldError[]; requestId: string }>,
  ) {
    super(problem.detail ?? problem.title ?? `The service answered ${status}.`)
    this.name = 'ApiError'
    this.status = status
    this.code = problem.code ?? 'unknown'
    this.fieldErrors = problem.errors ?? []
    this.requestId = problem.requestId ?? null
  }
}

let csrfToken = ''
let client: string | null = null
let waitForSignIn = async () => false

export function keepCsrfToken(token: string): void {
  csrfToken = token
}

/** Sets the merchant for which an operator's user calls the merchants' API. */
export function setActingMerchant(clientId: string | null): void {
  client = clientId
}

/** Null: all merchants, or the user's own. */
export function actingMerchant(): string | null {
  return client
}

/**
 * Sets what to do when the session has ended. The listener resolves to true when the same user has signed in again:
 * then the refused request is sent again.
 */
export function onSessionEnded(listener: () => Promise<boolean>): void {
  waitForSignIn = listener
}

/**
 * `fetch` with the session cookie, the chosen merchant, and the CSRF token, which proves that the request comes from
 * this page. A request that was refused because the session has ended is sent again after the user has signed in again.
 */
const sessionFetch: typeof fetch = async (input, init) => {
  const acting = client
  const response = await sendInSession(input, init, acting)
  if (response.status !== 401) return response
  const problem = await response
    .clone()
    .json()
    .catch(() => ({}))
  if (problem.code !== 'not_signed_in' && problem.code !== 'missing_token') return response
  // Without the signal: the SDK's time limit may have ended while the user signed in.
  return (await waitForSignIn()) ? await sendInSession(input, { ...init, signal: null }, acting) : response
}

async function sendInSession(input: RequestInfo | URL, init?: RequestInit, acting = client): Promise<Response> {
  const headers = new Headers(init?.headers)
  headers.set('x-csrf-token', csrfToken)
  if (acting !== null) headers.set('x-guiche-merchant', acting)
  return await fetch(input, { ...init, headers, credentials: 'same-origin' })
}

/** The merchants' API, called with the session instead of a token. */
export const guiche = new Guiche({
  baseUrl: location.origin,
  accessToken: () => null,
  fetch: sessionFetch,
  maxRetries: 1,
})

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/**
 * Calls the dashboard's own API. `path` begins after `/dashboard/api`. A file is sent as its bytes, anything else as
 * JSON.
 */
export async function request<Result>(method: Method, path: string, body?: object): Promise<Result> {
  return (await readJson(await call(method, path, body))) as Result
}

/** A file of the dashboard's own API, to be read in pieces. */
export async function download(path: string): Promise<Response> {
  return await call('GET', path)
}

/**
 * Ends the session at the service. A session that has ended already counts as signed out. This request does not wait
 * for a new sign-in as others do: sent again after it, it would end the new session.
 */
export async function signOut(): Promise<SignedOut> {
  try {
    return (await readJson(await call('DELETE', '/session', undefined, sendInSession))) as SignedOut
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return { providerSignOutUrl: null }
    throw error
  }
}

async function call(method: Method, path: string, body?: object, send = sessionFetch): Promise<Response> {
  const isFile = body instanceof Blob
  const response = await send(`/dashboard/api${path}`, {
    method,
    ...(body && {
      body: isFile ? body : JSON.stringify(body),
      headers: { 'content-type': isFile ? 'application/octet-stream' : 'application/json' },
    }),
  }).catch(throwLost)
  if (!response.ok) throw new ApiError(response.status, await readJson(response))
  return response
}

/** Browsers throw a TypeError if the connection fails or breaks. Its message differs between browsers. */
export function throwLost(error: unknown): never {
  throw error instanceof TypeError ? new ApiError(0, { code: 'connection_failed', detail: error.message }) : error
}

async function readJson(response: Response) {
  const text = await response.text().catch(throwLost)
  try {
    return text === '' ? {} : JSON.parse(text)
  } catch {
    // The answer is from a proxy. A proxy has a limit for bodies of its own, and answers 413 above it.
    throw new ApiError(response.status, { code: response.status === 413 ? 'body_too_large' : 'unexpected_answer' })
  }
}

/** Appends the query parameters. Undefined, null and empty values are left out. */
export function withQuery(path: string, query: Record<string, string | number | boolean | null | undefined>): string {
  const entries = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === null || value === '' ? [] : [[name, String(value)]],
  )
  return entries.length === 0 ? path : `${path}?${new URLSearchParams(entries)}`
}

/** The English sentence of any thrown error. */
export function sentenceOf(error: unknown): string {
  if (error instanceof GuicheError) return error.detail
  return error instanceof Error ? error.message : String(error)
}

/** The service's code of a thrown error, or an empty text. */
export function codeOf(error: unknown): string {
  return error instanceof ApiError || error instanceof GuicheError ? error.code : ''
}

/** The request id of a thrown error, with which the operator finds the request in the log. */
export function requestIdOf(error: unknown): string | null {
  return error instanceof ApiError || error instanceof GuicheError ? (error.requestId ?? null) : null
}

export function fieldErrorsOf(error: unknown): readonly FieldError[] {
  return error instanceof ApiError ? error.fieldErrors : error instanceof GuicheError ? (error.errors ?? []) : []
}

/** What is wrong with each field, by field name, in the chosen language. */
export function fieldMessagesOf(error: unknown): Record<string, string> {
  return Object.fromEntries(fieldErrorsOf(error).map((fieldError) => [fieldError.field, writeFieldError(fieldError)]))
}
