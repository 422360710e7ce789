import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { startBalancer } from './balancer.ts'

it('ends the response to a caller when the service breaks off its answer', async () => {
  const service = createServer((request, response) => {
    if (request.url === '/health/ready') response.end()
    else response.writeHead(200, { 'content-length': '10' }).write('half', () => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(service, 'listening')
  const balancer = await startBalancer([`http://127.0.0.1:${(service.address() as AddressInfo).port}`])
  try {
    const answer = await fetch(`${balancer.baseUrl}/transaction`)
    await expect(answer.text()).rejects.toThrow()
    expect(balancer.failures).toHaveLength(1)
  } finally {
    await balancer.stop()
    service.close()
  }
})
