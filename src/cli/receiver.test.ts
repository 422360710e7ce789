import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { signDelivery } from '../webhooks/sign.ts'
import { type Receiver, startReceiver } from './receiver.ts'

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const body = JSON.stringify({
  id: 'the-event',
  type: 'transaction.paid',
  timestamp: '2026-03-02T15:00:00.000Z',
  data: { id: 'the-record', status: 'PAID', amount: 123456, sequence: 3 },
})

let receiver: Receiver
let lines: string[]

beforeEach(async () => {
  lines = []
  receiver = await startReceiver({ port: 0, secrets: [secret], print: (line) => lines.push(line) })
})
afterEach(() => receiver.close())

function send(text: string, { with: signing = secret, timestamp = new Date() } = {}): Promise<Response> {
  const headers = signDelivery({ secrets: [signing], id: 'the-event', timestamp, body: text })
  return fetch(receiver.url, { method: 'POST', headers, body: text })
}

describe('the sample webhook receiver', () => {
  it('answers 204 to a delivery and prints its content', async () => {
    expect((await send(body)).status).toBe(204)
    expect(lines).toEqual([
      'transaction.paid  PAID  R$ 1.234,56  signature valid',
      '  event the-event  record the-record  sequence 3  at 2026-03-02T15:00:00.000Z',
    ])
  })

  it('answers 401 to a wrong secret and to an old delivery, and prints nothing of them', async () => {
    expect((await send(body, { with: 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' })).status).toBe(401)
    expect((await send(body, { timestamp: new Date(Date.now() - 301_000) })).status).toBe(401)
    expect((await fetch(receiver.url, { method: 'POST', body })).status).toBe(401)
    expect(lines).toHaveLength(3)
    for (const line of lines) expect(line).toMatch(/^REFUSED {2}/)
    expect(lines.join()).not.toMatch(/transaction|PAID|the-/)
  })

  it('survives bodies that are not events, and prints no control characters', async () => {
    for (const text of ['', 'null', '[1]', 'not json', '{"type":"transaction.paid"}'])
      expect((await send(text)).status).toBe(401)
    expect((await send('{"type":"\\u001b[2J","data":{"id":["\\u001b"],"amount":"\\u001b"}}')).status).toBe(204)
    expect(lines).toHaveLength(7)
    expect(lines.join('')).not.toMatch(/\p{Cc}/u)
    expect((await fetch(receiver.url)).status).toBe(405)
  })
})
