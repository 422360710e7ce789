import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Context,
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import type { Logger } from 'pino'
import { type OpenSpan, readTraceparent, setTracer } from './lib/spans.ts'

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT, consumer: SpanKind.CONSUMER }

/**
 * Sends spans to an OpenTelemetry collector. This file loads the SDK: it is imported only when traces are on. The SDK
 * reads the other OTEL_* variables, such as those of the sampler, the headers and the batches.
 */
export function startTracing({
  url,
  serviceName,
  version,
  log,
}: {
  url: string
  serviceName: string
  version: string
  log: Logger
}): { stop: () => Promise<void> } {
  const warn = (reason: string) => log.warn({ reason }, 'OpenTelemetry reported a problem: traces may be missing')
  const ignore = () => {}
  diag.setLogger({ error: warn, warn, info: ignore, debug: ignore, verbose: ignore }, { logLevel: DiagLogLevel.WARN })
  const own = resourceFromAttributes({ 'service.name': serviceName, 'service.version': version })
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(detectResources({ detectors: [envDetector] }))
      .merge(own),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url }))],
  })
  const tracer = provider.getTracer('guiche', version)
  const current = new AsyncLocalStorage<Span>()
  setTracer({
    begin(name, { kind, attributes, parent, isInnerOnly }) {
      const outer = current.getStore()
      if (isInnerOnly && outer === undefined) return null
      const context = parent === undefined ? inside(outer) : after(parent)
      const options = { ...(kind && { kind: kinds[kind] }), ...(attributes && { attributes }) }
      return toOpenSpan(tracer.startSpan(name, options, context), current)
    },
    traceparent() {
      const span = current.getStore()?.spanContext()
      if (!span) return null
      return `00-${span.traceId}-${span.spanId}-${span.traceFlags & TraceFlags.SAMPLED ? '01' : '00'}`
    },
  })
  return {
    async stop() {
      setTracer(null)
      await provider.shutdown().catch((error: unknown) => warn(String(error)))
      diag.disable()
    },
  }
}

function inside(span: Span | undefined): Context {
  return span === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, span)
}

function after(traceparent: string | null): Context {
  const remote = readTraceparent(traceparent)
  if (remote === null) return ROOT_CONTEXT
  const { traceId, spanId, flags } = remote
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: flags & TraceFlags.SAMPLED, isRemote: true })
}

function toOpenSpan(span: Span, current: AsyncLocalStorage<Span>): OpenSpan {
  return {
    run: (work) => current.run(span, work),
    set: (attributes) => void span.setAttributes(attributes),
    end(outcome) {
      // Without the message of the error, which may hold data of the request.
      if (outcome === 'error') span.setStatus({ code: SpanStatusCode.ERROR })
      span.end()
    },
  }
}
