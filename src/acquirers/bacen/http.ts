import type { ConnectionOptions } from 'node:tls'
import { Agent, request as undiciRequest } from 'undici'

/** A request and its answer as plain data. Header names are in lower case; `path` is encoded and has no query. */
export type HttpRequest = {
  method: string
  path: string
  query: Record<string, string>
  headers: Record<string, string>
  body: string | undefined
}

export type HttpResponse = { status: number; headers: Record<string, string>; body: string }

/** Carries a request to the PSP: over HTTP, or into a function in this process. Rejects when there is no whole answer. */
export type Send = (request: HttpRequest) => Promise<HttpResponse>

export type HttpSendOptions = {
  /** May have a path: `https://pix.example.com/api/v2`. */
  baseUrl: string
  /** Where `/oauth/token` is, when it does not lie under the base URL: at most PSPs it does not. */
  tokenUrl?: string
  timeoutMs?: number
  /** The client's certificate and key for mutual TLS, as Node's `tls.connect` takes them. */
  tls?: Pick<ConnectionOptions, 'pfx' | 'passphrase' | 'cert' | 'key' | 'ca'>
}

/** The path under which a client asks for its token. */
export const tokenPath = '/oauth/token'

const timeoutMsDefault = 10_000
// A page of 100 payments is 60 kB; what is far beyond that is no answer of a PSP.
const bodyBytesMax = 1024 * 1024

/** Sends over HTTP with undici: connections kept, no redirects followed, a time-out over all of it, a bounded answer. */
export function createHttpSend(options: HttpSendOptions): { send: Send; close: () => Promise<void> } {
  const dispatcher = new Agent({ ...(options.tls && { connect: options.tls }), maxResponseSize: bodyBytesMax })
  const timeoutMs = options.timeoutMs ?? timeoutMsDefault

  async function send(request: HttpRequest): Promise<HttpResponse> {
    const answer = await undiciRequest(toUrl(options, request), {
      method: toMethod(request.method),
      headers: request.headers,
      body: request.body ?? null,
      dispatcher,
      // Over everything, connecting and reading the body included; undici's own time-outs each begin anew.
      signal: AbortSignal.timeout(timeoutMs),
    })
    return { status: answer.statusCode, headers: flatten(answer.headers), body: await answer.body.text() }
  }

  // Destroyed, not closed: a close would wait for answers that may never come.
  return { send, close: () => dispatcher.destroy() }
}

function toUrl({ baseUrl, tokenUrl }: HttpSendOptions, request: HttpRequest): URL {
  const isToken = tokenUrl !== undefined && request.path === tokenPath
  const url = new URL(isToken ? tokenUrl : baseUrl.replace(/\/+$/, '') + request.path)
  for (const [name, value] of Object.entries(request.query)) url.searchParams.append(name, value)
  return url
}

function toMethod(text: string): 'GET' | 'POST' | 'PUT' {
  if (text === 'GET' || text === 'POST' || text === 'PUT') return text
  throw new Error('The adapter sends GET, POST and PUT only')
}

function flatten(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const flat: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return flat
}
