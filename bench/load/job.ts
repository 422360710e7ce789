import type { Histogram } from './histogram.ts'

/** What a generator is asked to do. */
export type Job = {
  port: number
  connections: number
  seconds: number
  /** Comes before, and is not counted. */
  warmUpSeconds: number
  /**
   * Null: a closed loop, each connection sends when it was answered. A number: requests per second, each due at its time; one that
   * finds no connection free waits, and its latency counts from when it was due, so that a stall hides nothing.
   */
  perSecond: number | null
  /** Whole requests, taken in turn. In each, `numberMark` is replaced by a number that was never used before. */
  requests: string[]
  /** Ends when each request was sent once, however long that takes. */
  once: boolean
  /** Gives back the groups of this pattern from so many answers' bodies. */
  keep: { pattern: string; max: number } | null
}

export type Report = {
  /** Answers of a status 2xx. */
  count: number
  /** Everything else, by status or by the connection's error. */
  errors: Record<string, number>
  /** The body of the first answer that was an error. */
  example?: string
  seconds: number
  latency: Histogram
  kept: string[][]
  /** What the generator itself took, without the warm-up's share. */
  cpuMicros: number
}

/** Stands in requests where a number of that many digits is wanted. */
export const numberMark = '#number-here'

export type RequestParts = { method: string; path: string; token?: string; body?: object | string }

/** A request as it goes over the wire. */
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
