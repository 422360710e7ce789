import { describe, expect, it } from 'vitest'
import { createScanner, type Message, statusOf } from './scan.ts'

const created = 'HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 8\r\n\r\n{"a":1}\n'
const nothing = 'HTTP/1.1 204 No Content\r\n\r\n'
const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nwiki\r\nA;x=y\r\npedia rock\r\n0\r\n\r\n'

function scan(chunks: string[]) {
  const messages: [number, string][] = []
  let starts = 0
  const take = createScanner(
    (message: Message) => messages.push([statusOf(message), message.body.toString()]),
    () => {
      starts += 1
    },
  )
  // In one buffer that is reused, like the buffer of the load generator's sockets.
  const buffer = Buffer.alloc(1024)
  for (const chunk of chunks) take(buffer.subarray(0, buffer.write(chunk)))
  return { messages, starts }
}

describe('the scanner of answers', () => {
  const whole = created + nothing + chunked
  const expected = [
    [201, '{"a":1}\n'],
    [204, ''],
    [200, 'wikipedia rock'],
  ]

  it('finds every answer in one chunk', () => {
    expect(scan([whole]).messages).toEqual(expected)
  })

  it.each([1, 2, 3, 7, 50])('finds every answer in chunks of %i bytes', (size) => {
    const chunks = whole.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
    expect(scan(chunks)).toEqual({ messages: expected, starts: 3 })
  })

  it('waits for the rest of an answer', () => {
    expect(scan([created, nothing.slice(0, -2)]).messages).toEqual(expected.slice(0, 1))
  })
})
