import type { Histogram } from './histogram.ts'

/** The job of a load generator. */
export type Job = {
  port: number
  connections: number
  seconds: number
  /** Runs first, and is not counted. */
  warmUpSeconds: number
  /**
   * Null: a closed loop, in which each connection sends its next request after the answer. A number: requests per
   * second, each with a due time. A request without a free connection waits, and its latency counts from its due time,
   * so that a stall is not hidden.
   */
  perSecond: number | null
  /** Complete requests, sent in turn. In each, `numberMark` is replaced by a new number. */
  requests: string[]
  /** Ends when each request was sent once, however long that takes. */
  once: boolean
  /** Collects the groups of this pattern from the bodies of the first answers that match, `max` at most. */
  keep: { pattern: string; max: number } | null
}

export type Report = {
  /** Answers with a status 2xx. */
  count: number
  /** All other results, by status and error code or by the connection's error; and requests that were never sent. */
  errors: Record<string, number>
  firstErrorBody?: string
  seconds: number
  latency: Histogram
  /** The first part of the latency: from when a request was due until a connection was free to send it. */
  queued: Histogram
  kept: string[][]
  /** The generator's own processor time, without the warm-up. */
  cpuMicros: number
}

/** Stands in a request for a number with as many digits as this text has characters. */
export const numberMark = '#number-here'

export type RequestParts = { method: string; path: string; token?: string; body?: object | string }

/** The text of an HTTP/1.1 request. */
export function toRequest({ method, path, token, body }: RequestParts): string {
  const text = typeof body === 'object' ? JSON.stringify(body) : body
  const lines = [`${method} ${path} HTTP/1.1`, 'host: 127.0.0.1']
  if (token !== undefined) lines.push(`authorization: Bearer ${token}`)
  if (text !== undefined) {
    const type = typeof body === 'object' ? 'application/json' : 'application/x-www-form-urlencoded'
    lines.push(`content-type: ${type}`, `content-length: ${Buffer.byteLength(text)}`)
  }
  return `${lines.join('\r\n')}\r\n\r\n${text ?? ''}`
}
