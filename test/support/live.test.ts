import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { readLive } from './live.ts'

async function readFrom(answer: (response: ServerResponse) => void) {
  const server = createServer((_, response) => answer(response.writeHead(200, { 'content-type': 'text/event-stream' })))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  try {
    return await readLive({ baseUrl: `http://127.0.0.1:${port}` }, { cookie: '' })
  } finally {
    server.close()
  }
}

it('reads a stream until it ends', async () => {
  const reader = await readFrom((response) => response.end('event: connected\ndata: {}\n\n'))
  await reader.ended
  expect(reader.names).toEqual(['connected'])
})

it('fails when the stream ends or breaks before it is connected', async () => {
  await expect(readFrom((response) => response.end(': nothing\n\n'))).rejects.toThrow('before the message `connected`')
  const broken = readFrom((response) => response.write(': nothing\n\n', () => response.destroy()))
  await expect(broken).rejects.toThrow('terminated')
})
