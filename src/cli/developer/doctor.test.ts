import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { type Check, createReport } from './checks.ts'
import { checkService } from './doctor.ts'

/** The check that fails at a service whose token endpoint answers in this way. */
async function findFailure(answer: RequestListener): Promise<Check | undefined> {
  const server = createServer(answer)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const report = createReport({ json: true })
  const connection = { baseUrl: `http://127.0.0.1:${port}`, clientId: 'a', clientSecret: 'b', webhookSecret: null }
  await checkService(connection, report)
  return report.checks.find(({ outcome }) => outcome === 'fail')
}

it.each([
  [401, 'invalid_client', 'credentials', /^The credentials are refused: why$/, /rotate-secret/],
  [429, 'rate_limited', 'token', /^The service cannot issue a token now: HTTP 429, why$/, /^Wait/],
  [503, 'temporarily_unavailable', 'token', /^The service cannot issue a token now: HTTP 503, why$/, /^Wait/],
  [413, 'invalid_request', 'token', /^The service refuses the request for a token: HTTP 413, why$/, /proxy/],
])('distinguishes wrong credentials from other refusals: %i %s', async (status, error, name, detail, fix) => {
  const body = JSON.stringify({ error, error_description: 'why' })
  const failure = await findFailure((_, response) => response.writeHead(status).end(body))
  expect(failure).toMatchObject({
    name,
    detail: expect.stringMatching(detail),
    fix: expect.stringMatching(fix),
  })
})

it('distinguishes a broken connection from something that is not Guichê', async () => {
  const broken = await findFailure((_, response) => {
    response.writeHead(200, { 'content-length': '1000' }).write('{"access_token":')
    setTimeout(() => response.destroy(), 50)
  })
  expect(broken?.detail).toBe('It cannot be reached: The connection was closed before an answer')
  const other = await findFailure((_, response) => response.end('<html></html>'))
  expect(other?.detail).toMatch(/^What answers is not Guichê: HTTP 200 from /)
})
