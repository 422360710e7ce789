import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../lib/clock.ts'
import { createProvider, ProviderUnavailable } from './provider.ts'

/** The error of a request for a token to a provider that answers every request in this way. */
async function findError(answer: RequestListener): Promise<unknown> {
  const server = createServer(answer)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const provider = createProvider({ issuer: `http://127.0.0.1:${port}`, audience: null, clock: systemClock })
  return await provider.requestToken({ clientId: 'a', clientSecret: 'b', scope: null }).catch((error: unknown) => error)
}

it.each<[string, RequestListener]>([
  ['The provider did not answer', (request) => void request.socket.destroy()],
  [
    'The provider answered 404 without readable JSON',
    (_, response) => void response.writeHead(404).end('<html></html>'),
  ],
  ['The provider answered 200 without a JSON object', (_, response) => void response.end('"yes"')],
  ['The provider has no readable OpenID Connect configuration', (_, response) => void response.end('{}')],
])('distinguishes no answer from one that cannot be used: %s', async (message, answer) => {
  const error = await findError(answer)
  expect(error).toBeInstanceOf(ProviderUnavailable)
  expect(error).toMatchObject({ message })
})
