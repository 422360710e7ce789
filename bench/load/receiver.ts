import { type AddressInfo, createServer } from 'node:net'
import { createScanner } from './scan.ts'

/** A received webhook. `at` is the time of its first byte, by `performance.now()`. */
export type Arrival = { type: string; occurredAt: number; recordId: string; at: number }

const known = /"type":"([^"]+)","timestamp":"([^"]+)","data":\{"id":"([^"]+)"/
const answer = 'HTTP/1.1 204 No Content\r\n\r\n'

/** A receiver that answers immediately, or one that accepts everything and never answers. Returns its port. */
export function startReceiver(isHanging: boolean, onArrival: (arrival: Arrival) => void): Promise<number> {
  const server = createServer({ noDelay: true }, (socket) => {
    let startedAt = 0
    const scan = createScanner(
      ({ body }) => {
        socket.write(answer)
        const [, type = '', timestamp = '', recordId = ''] = known.exec(body.toString('latin1', 0, 300)) ?? []
        onArrival({ type, occurredAt: Date.parse(timestamp), recordId, at: startedAt })
      },
      () => {
        startedAt = performance.now()
      },
    )
    socket.on('data', (chunk) => {
      if (!isHanging) scan(chunk)
    })
    socket.on('error', () => {})
  })
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
}
