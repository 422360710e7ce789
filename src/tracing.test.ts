import { afterEach, expect, it, vi } from 'vitest'
import { createTestLog } from '../test/support/logged-errors.ts'
import { startTracing } from './tracing.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

it('logs what OpenTelemetry reports, and does not call a wrong setting a failure to send', async () => {
  vi.stubEnv('OTEL_TRACES_SAMPLER', 'sometimes')
  const lines: object[] = []
  const log = createTestLog((line) => lines.push(line))
  const tracing = startTracing({ url: 'http://127.0.0.1:1/v1/traces', serviceName: 'a', version: '1', log })
  await tracing.stop()
  expect(lines).toEqual([
    expect.objectContaining({
      msg: 'OpenTelemetry reported a problem: traces may be missing',
      reason: expect.stringContaining('OTEL_TRACES_SAMPLER value "sometimes" invalid'),
    }),
  ])
})
