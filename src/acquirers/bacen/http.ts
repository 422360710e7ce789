import { Agent, type Dispatcher } from 'undici'
import { traceHeaders } from '../../lib/spans.ts'
import { codeOf, isCertificateError } from './reach.ts'
import type { LiveTls } from './renewal.ts'

/** A request and its answer as plain data. Header names are in lower case; `path` is encoded and has no query. */
export type HttpRequest = {
  method: 'GET' | 'PATCH' | 'POST' | 'PUT'
  path: string
  query: Record<string, string>
  headers: Record<string, string>
  body: string | undefined
  /** The request for a token, which goes to another host at many PSPs. */
  isToken?: boolean
  /** When the request times out, by `performance.now()`. */
  endsAt?: number
}

export type HttpResponse = { status: number; headers: Record<string, string>; body: string }

/**
 * Sends a request to the PSP: over HTTP, or to a function in this process. Rejects when the answer is missing,
 * incomplete or too long.
 */
export type Send = (request: HttpRequest) => Promise<HttpResponse>

export type HttpSendOptions = {
  /** May have a path: `https://pix.example.com/api/v2`. */
  baseUrl: string
  /** The whole address for tokens, when it is not under the base URL. */
  tokenUrl?: string | undefined
  /** For a request without `endsAt`. */
  timeoutMs?: number
  /** Mutual TLS, with files that may be renewed while the service runs. */
  tls?: LiveTls | null
}

const timeoutMsDefault = 10_000
// A page of 100 payments is 60 kB; no answer of a PSP is much longer.
const bodyBytesMax = 1024 * 1024
// At 100 ms an answer this is 2,500 requests a second; further requests wait for a connection, within their time-out.
const connectionsMax = 256

/**
 * Sends over HTTP with undici: keeps connections, follows no redirects, limits the total time and the answer's size.
 */
export function createHttpSend(options: HttpSendOptions): { send: Send; close: () => Promise<void> } {
  const timeoutMs = options.timeoutMs ?? timeoutMsDefault
  const connections = createConnections(options.tls ?? null)

  async function send(request: HttpRequest): Promise<HttpResponse> {
    const { origin, pathname, search } = toUrl(options, request)
    const { body = null, endsAt } = request
    const trace = traceHeaders()
    // Without it the server may choose an encoding.
    const headers = { 'accept-encoding': 'identity', ...request.headers, ...trace }
    const leftMs = endsAt === undefined ? timeoutMs : Math.ceil(endsAt - performance.now())
    const dispatched = { origin, path: pathname + search, method: request.method, headers, body }
    try {
      return await dispatch(connections.current(), dispatched, leftMs)
    } catch (error) {
      // The file may have been renewed since the last check.
      if (isCertificateError(codeOf(error) ?? '')) options.tls?.refresh()
      throw error
    }
  }

  return { send, close: connections.close }
}

/**
 * The time-out covers the whole exchange, including connecting and reading the body; each of undici's own time-outs
 * covers one phase only. undici's `request` would make a stream of each answer: with an AbortSignal that took 66 µs a
 * request, where this takes 17.
 */
function dispatch(agent: Agent, options: Dispatcher.DispatchOptions, timeoutMs: number): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const answer = { status: 0, headers: {}, chunks: [] as Buffer[] }
    let connection: Dispatcher.DispatchController | undefined
    let late: Error | undefined
    const timer = setTimeout(() => {
      late = new DOMException('The acquirer did not answer in time', 'TimeoutError')
      connection?.abort(late)
      reject(late)
    }, timeoutMs)
    agent.dispatch(options, {
      onRequestStart(controller) {
        // The request may have waited for a connection until its time was up.
        if (late) controller.abort(late)
        connection = controller
      },
      onResponseStart(_, status, headers) {
        answer.status = status
        answer.headers = flatten(headers)
      },
      onResponseData(_, chunk) {
        answer.chunks.push(chunk)
      },
      onResponseEnd() {
        clearTimeout(timer)
        const { status, headers, chunks } = answer
        resolve({ status, headers, body: utf8.decode(Buffer.concat(chunks)) })
      },
      onResponseError(_, error) {
        clearTimeout(timer)
        reject(error)
      },
    })
  })
}

// Leaves out a byte order mark.
const utf8 = new TextDecoder()

/** One pool of connections for each certificate. Requests in progress on an old pool still get their answers. */
function createConnections(tls: LiveTls | null) {
  const open = () => {
    const material = tls?.current() ?? null
    const agent = new Agent({
      ...(material && { connect: material.options }),
      connections: connectionsMax,
      maxResponseSize: bodyBytesMax,
    })
    return { material, agent }
  }
  const all = new Set<Agent>()
  let latest = open()
  all.add(latest.agent)
  return {
    current(): Agent {
      if (tls && tls.current() !== latest.material) {
        const { agent: old } = latest
        latest = open()
        all.add(latest.agent)
        void old.close().finally(() => all.delete(old))
      }
      return latest.agent
    },
    // Destroyed, not closed: a close would wait for answers that may never arrive.
    async close() {
      tls?.close()
      await Promise.all([...all].map((agent) => agent.destroy()))
    },
  }
}

function toUrl({ baseUrl, tokenUrl }: HttpSendOptions, request: HttpRequest): URL {
  const url = new URL(request.isToken && tokenUrl !== undefined ? tokenUrl : baseUrl.replace(/\/+$/, '') + request.path)
  for (const [name, value] of Object.entries(request.query)) url.searchParams.append(name, value)
  return url
}

function flatten(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const flat: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = Array.isArray(value) ? value.join(', ') : value
  }
  return flat
}
