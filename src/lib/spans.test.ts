import { expect, it } from 'vitest'
import { readConfig } from '../config.ts'
import { readTraceparent } from './spans.ts'

it('reads a traceparent as the Trace Context recommendation has it, and nothing else', () => {
  const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331']
  expect(readTraceparent(`00-${traceId}-${spanId}-01`)).toEqual({ traceId, spanId, flags: 1 })
  // A later version may have more parts.
  expect(readTraceparent(`cc-${traceId}-${spanId}-00-more`)).toEqual({ traceId, spanId, flags: 0 })
  for (const other of [
    undefined,
    '',
    'x',
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}-01-more`,
    `cc-${traceId}-${spanId}-00-${'x'.repeat(200)}`,
    [`00-${traceId}-${spanId}-01`],
  ])
    expect(readTraceparent(other), String(other)).toBeNull()
})

it('sends traces where the standard variable says', () => {
  expect(
    readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/', OTEL_SERVICE_NAME: 'pix' }).tracing,
  ).toEqual({
    url: 'http://collector:4318/v1/traces',
    serviceName: 'pix',
  })
})
