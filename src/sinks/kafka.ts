import { type MessageToProduce, ProduceAcks, Producer } from '@platformatic/kafka'
import type { EventSinkSettings } from '../lib/event-sink-settings.ts'
import { ackMaxMs, attributesOf, inBatches, type Message, type Sink } from './sink.ts'

/** Half of what a broker accepts by default. */
const batchBytesMax = 500_000

/**
 * Sends to Kafka, to a topic that the operator provides. The key is the record's id: the events of a record are in one
 * partition, in order.
 */
export async function openKafka({ url, destination, mechanism }: EventSinkSettings): Promise<Sink> {
  const { username, password, protocol, host } = readAddress(url)
  const producer = new Producer<Buffer, Buffer, Buffer, Buffer>({
    clientId: 'guiche',
    bootstrapBrokers: host.split(','),
    connectTimeout: ackMaxMs,
    timeout: ackMaxMs,
    // follow.ts tries again.
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

/** `URL` cannot read an address with several brokers, such as kafka://a:9092,b:9092. */
function readAddress(address: string) {
  const [, protocol = '', user = '', host = ''] = /^([^/]+)\/\/(?:([^@/]*)@)?([^/]*)/.exec(address) ?? []
  // A password may contain colons, as in every URL.
  const [, username = '', password = ''] = /^([^:]*):?(.*)$/.exec(user) ?? []
  return { protocol, username: decodeURIComponent(username), password: decodeURIComponent(password), host }
}

function toKafka(topic: string, message: Message): MessageToProduce<Buffer, Buffer, Buffer, Buffer> {
  return {
    topic,
    key: Buffer.from(message.recordId),
    value: message.body,
    headers: new Map(attributesOf(message).map(([name, value]) => [Buffer.from(name), Buffer.from(value)])),
  }
}
