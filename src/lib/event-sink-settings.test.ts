import { expect, it } from 'vitest'
import { readEventSink } from './event-sink-settings.ts'

it('the broker of events has a kind, a name and a destination', () => {
  expect(readEventSink(undefined, [])).toBeNull()
  expect(readEventSink('tls://guiche:p%40ss@nats.example.com:4222?subject=pix&name=warehouse', [])).toEqual({
    kind: 'nats',
    name: 'warehouse',
    url: 'tls://guiche:p%40ss@nats.example.com:4222',
    destination: 'pix',
  })
  expect(readEventSink('amqps://guiche:pass@mq.example.com/shop', [])).toEqual({
    kind: 'amqp',
    name: 'amqp',
    url: 'amqps://guiche:pass@mq.example.com/shop',
    destination: 'guiche.events',
  })
})

it.each([
  ...['nats', 'kafka://host', 'nats://', 'nats://host?exchange=a', 'amqp://host?subject=a'],
  ...['nats://host?subject=a.>', 'nats://host?subject=', 'nats://host?name=a.b', 'nats://host?user=a'],
])('%s is no broker of events', (address) => {
  const faults: string[] = []
  expect(readEventSink(address, faults)).toBeNull()
  expect(faults).toEqual([expect.stringMatching(/^EVENT_SINK must be the address of a message broker/)])
})
