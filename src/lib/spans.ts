import { setNewest } from './newest.ts'

/** What a span may say. Names, ids, states and numbers: no personal data, no amounts, no secrets. */
type Attributes = Record<string, string | number | boolean>

export type SpanOptions = {
  kind?: 'server' | 'client' | 'consumer'
  attributes?: Attributes
  /** A traceparent; null begins a trace. By default the span that is current here. */
  parent?: string | null
  /** No span outside of another one: background work would write one for each poll. */
  isInnerOnly?: boolean
}

export type OpenSpan = {
  /** Runs `work` with this span as the current one, also after each `await`. */
  run<Result>(work: () => Result): Result
  set(attributes: Attributes): void
  end(outcome: 'ok' | 'error'): void
}

export type Tracer = {
  begin(name: string, options: SpanOptions): OpenSpan | null
  /** Of the current span (https://www.w3.org/TR/trace-context/). */
  traceparent(): string | null
}

/** One for the process. Null: traces are off, and each function here does nothing. */
let tracer: Tracer | null = null

export function setTracer(next: Tracer | null): void {
  tracer = next
  traces.clear()
}

export function isTracing(): boolean {
  return tracer !== null
}

/** A span that the caller ends. Null if there is none. */
export function beginSpan(name: string, options: SpanOptions): OpenSpan | null {
  return tracer?.begin(name, options) ?? null
}

/** A statement or a transaction. */
export const databaseSpan = (): SpanOptions => ({
  kind: 'client',
  attributes: { 'db.system.name': 'postgresql' },
  isInnerOnly: true,
})

/** Runs `work` within a span. While traces are off, `options` is not called. */
export function inSpan<Result>(
  name: string,
  options: () => SpanOptions,
  work: (span: OpenSpan | null) => Promise<Result>,
): Promise<Result> {
  const span = tracer?.begin(name, options()) ?? null
  return span === null ? work(null) : runAndEnd(span, work)
}

async function runAndEnd<Result>(span: OpenSpan, work: (span: OpenSpan) => Promise<Result>): Promise<Result> {
  try {
    const result = await span.run(async () => await work(span))
    span.end('ok')
    return result
  } catch (error) {
    span.end('error')
    throw error
  }
}

/** The header that gives another service the span to which a request belongs. */
export function traceHeaders(): { traceparent: string } | null {
  const traceparent = tracer?.traceparent() ?? null
  return traceparent === null ? null : { traceparent }
}

/** The maximum number of records whose trace is kept. Most webhooks are delivered before so many newer records exist. */
const tracesMax = 10_000
/** The traces of the requests that created records in this process, by record. */
const traces = new Map<string, string>()

/**
 * The webhooks of this record continue the current trace, as long as this process delivers them. Called after the commit
 * that creates the record: many requests create none, because they repeat an idempotency key or are refused.
 */
export function rememberTrace(recordId: string): void {
  const traceparent = tracer?.traceparent() ?? null
  if (traceparent !== null) setNewest(traces, recordId, traceparent, tracesMax)
}

export function findTrace(recordId: string): string | null {
  return traces.get(recordId) ?? null
}

/** Versions after 00 may have more parts. */
const form = /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/

/** Reads the header `traceparent`. Null if there is none, or it is not valid. */
export function readTraceparent(
  header: string | string[] | undefined | null,
): { traceId: string; spanId: string; flags: number } | null {
  if (typeof header !== 'string' || header.length > 200 || header.startsWith('ff')) return null
  const [, traceId = '', spanId = '', flags = '', rest] = form.exec(header) ?? []
  if (rest !== undefined && header.startsWith('00')) return null
  if (/^0*$/.test(traceId) || /^0*$/.test(spanId)) return null
  return { traceId, spanId, flags: Number.parseInt(flags, 16) }
}
