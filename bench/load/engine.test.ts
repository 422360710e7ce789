import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { runJob } from './engine.ts'
import type { Job } from './job.ts'

async function startJob(changes: Partial<Job>) {
  const server = createServer((_, response) => response.end('{}')).listen(0, '127.0.0.1')
  await new Promise((listening) => server.once('listening', listening))
  onTestFinished(() => server.closeAllConnections())
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return await runJob({
    ...{ port, connections: 2, seconds: 0.1, warmUpSeconds: 0, perSecond: null, requests: [], once: false, keep: null },
    ...changes,
  })
}

it.each([null, 100])(
  'fails instead of waiting forever without a request to repeat, at the rate %s',
  async (perSecond) => {
    await expect(startJob({ perSecond })).rejects.toThrow('no requests to repeat')
  },
)

it('ends at once when it has to send no request once', async () => {
  expect(await startJob({ once: true })).toMatchObject({ count: 0, errors: {} })
})
