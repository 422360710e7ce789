import { Agent, type Dispatcher } from 'undici'
import { codeOf, isOfCertificate } from './reach.ts'
import type { LiveTls } from './renewal.ts'

/** A request and its answer as plain data. Header names are in lower case; `path` is encoded and has no query. */
export type HttpRequest = {
  method: string
  path: string
  query: Record<string, string>
  headers: Record<string, string>
  body: string | undefined
  /** The request for a token, which many PSPs take at another host. */
  isToken?: boolean
  /** When it is given up, by `performance.now()`. */
  endsAt?: number
}

export type HttpResponse = { status: number; headers: Record<string, string>; body: string }

/** Carries a request to the PSP: over HTTP, or into a function in this process. Rejects when there is no whole answer. */
export type Send = (request: HttpRequest) => Promise<HttpResponse>

export type HttpSendOptions = {
  /** May have a path: `https://pix.example.com/api/v2`. */
  baseUrl: string
  /** The whole address of the token, when it does not lie under the base URL. */
  tokenUrl?: string | undefined
  /** Of a request that does not say when it is given up. */
  timeoutMs?: number
  /** Mutual TLS, renewed while it runs. */
  tls?: LiveTls | null
}

const timeoutMsDefault = 10_000
// A page of 100 payments is 60 kB; what is far beyond that is no answer of a PSP.
const bodyBytesMax = 1024 * 1024
// At 100 ms an answer that is 2,500 questions a second; what is beyond it waits, within its time.
const connectionsMax = 256

/** Sends over HTTP with undici: connections kept, no redirects followed, a time-out over all of it, a bounded answer. */
export function createHttpSend(options: HttpSendOptions): { send: Send; close: () => Promise<void> } {
  const timeoutMs = options.timeoutMs ?? timeoutMsDefault
  const connections = createConnections(options.tls ?? null)

  async function send(request: HttpRequest): Promise<HttpResponse> {
    const { origin, pathname, search } = toUrl(options, request)
    const { headers, body = null, endsAt } = request
    const leftMs = endsAt === undefined ? timeoutMs : Math.ceil(endsAt - performance.now())
    const asked = { origin, path: pathname + search, method: toMethod(request.method), headers, body }
    try {
      return await dispatch(connections.current(), asked, leftMs)
    } catch (error) {
      // A renewed file may be there already, before the next look at it.
      if (isOfCertificate(codeOf(error) ?? '')) options.tls?.refresh()
      throw error
    }
  }

  return { send, close: connections.close }
}

/**
 * The time-out is over everything, connecting and reading the body included; undici's own time-outs each start again. Its `request` would make a stream
 * of each answer, which with an AbortSignal took 66 µs a request where this takes 17.
 */
function dispatch(agent: Agent, asked: Dispatcher.DispatchOptions, timeoutMs: number): Promise<HttpResponse> {
  return new Promise((resolve, reject) => {
    const answer = { status: 0, headers: {}, chunks: [] as Buffer[] }
    let connection: Dispatcher.DispatchController | undefined
    let late: Error | undefined
    const timer = setTimeout(() => {
      late = new DOMException('The acquirer did not answer in time', 'TimeoutError')
      connection?.abort(late)
      reject(late)
    }, timeoutMs)
    agent.dispatch(asked, {
      onRequestStart(controller) {
        // It may have waited for a connection until it was too late.
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

/** The pool of connections, and another one for each certificate. What the old one has under way is answered. */
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
    // Destroyed, not closed: a close would wait for answers that may never come.
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
