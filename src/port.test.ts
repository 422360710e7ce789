import { once } from 'node:events'
import { createServer } from 'node:net'
import { expect, it } from 'vitest'
import { findFreePort } from './port.ts'

it('finds ports at which a server can listen, and that no outgoing connection gets', async () => {
  for (let count = 0; count < 20; count += 1) {
    const port = await findFreePort('127.0.0.1')
    const server = createServer().listen(port, '127.0.0.1')
    await once(server, 'listening')
    expect(port).toBeLessThan(32_768)
    await new Promise((resolve) => server.close(resolve))
  }
})

it('says why a host has none', async () => {
  await expect(findFreePort('192.0.2.1')).rejects.toMatchObject({ code: 'EADDRNOTAVAIL' })
})
