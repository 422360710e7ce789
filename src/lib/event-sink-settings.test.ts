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
  expect(readEventSink('kafkas://u:p%2Fs@a.example:9092,b.example:9092?topic=pix&mechanism=SCRAM-SHA-512', [])).toEqual(
    {
      ...{ kind: 'kafka', name: 'kafka', url: 'kafkas://u:p%2Fs@a.example:9092,b.example:9092' },
      ...{ destination: 'pix', mechanism: 'SCRAM-SHA-512' },
    },
  )
  const queue = 'https://sqs.sa-east-1.amazonaws.com/123456789012/guiche.fifo'
  expect(readEventSink(queue, [])).toEqual({ kind: 'sqs', name: 'sqs', url: queue, destination: 'sa-east-1' })
  expect(readEventSink('https://mq.example.com/1/guiche?region=us-east-1', [])).toMatchObject({
    ...{ kind: 'sqs', destination: 'us-east-1' },
  })
})

it.each([
  ...['nats', 'redis://host', 'nats://', 'nats://host?exchange=a', 'amqp://host?subject=a'],
  ...['nats://host?subject=a.>', 'nats://host?subject=', 'nats://host?name=a.b', 'nats://host?user=a'],
  ...['kafka://host/topic', 'nats://host:4222/subject'],
  ...['kafka://a,', 'kafka://a,b c', 'kafka://a?mechanism=GSSAPI', 'nats://a?mechanism=PLAIN', 'kafka://a?exchange=b'],
  ...[
    'https://mq.example.com/1/guiche',
    'https://sqs.sa-east-1.amazonaws.com/guiche',
    'https://u:p@sqs.a.amazonaws.com/1/a',
  ],
])('%s is no broker of events', (address) => {
  const errors: string[] = []
  expect(readEventSink(address, errors)).toBeNull()
  expect(errors).toEqual([expect.stringMatching(/^EVENT_SINK must be the address of a message broker/)])
})
