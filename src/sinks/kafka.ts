import { type MessageToProduce, ProduceAcks, Producer } from '@platformatic/kafka'
import type { EventSinkSettings } from '../lib/event-sink-settings.ts'
import { ackMaxMs, attributesOf, inBatches, type Message, type Sink } from './sink.ts'

/** Half of what a broker accepts by default. */
const batchBytesMax = 500_000

/**
 * Kafka. A topic of the operator's. The key is the record's id: the events of a record are in one partition, in order.
 */
export async function openKafka({ url, destination, mechanism }: EventSinkSettings): Promise<Sink> {
  const { username, password, protocol, host } = readAddress(url)
  const producer = new Producer<Buffer, Buffer, Buffer, Buffer>({
    clientId: 'guiche',
    bootstrapBrokers: host.split(','),
    connectTimeout: ackMaxMs,
    timeout: ackMaxMs,
    // Whoever follows the feed tries again.
    retries: 0,
    ...(protocol === 'kafkas:' && { tls: {} }),
    ...(username !== '' && {
      sasl: { mechanism: mechanism ?? 'PLAIN', username, password },
    }),
  })

  return {
    async publish(messages) {
      // All replicas that are in sync have stored it.
      for (const batch of inBatches(messages, { count: messages.length, bytes: batchBytesMax }))
        await producer.send({ acks: ProduceAcks.ALL, messages: batch.map((message) => toKafka(destination, message)) })
    },
    close: async () => await producer.close(),
  }
}

/** Several brokers, as in kafka://a:9092,b:9092, are no URL. */
function readAddress(address: string) {
  const [, protocol = '', user = '', host = ''] = /^([^/]+)\/\/(?:([^@/]*)@)?([^/]*)/.exec(address) ?? []
  const [username = '', password = ''] = user.split(':', 2).map(decodeURIComponent)
  return { protocol, username, password, host }
}

function toKafka(topic: string, message: Message): MessageToProduce<Buffer, Buffer, Buffer, Buffer> {
  return {
    topic,
    key: Buffer.from(message.recordId),
    value: message.body,
    headers: new Map(attributesOf(message).map(([name, value]) => [Buffer.from(name), Buffer.from(value)])),
  }
}
