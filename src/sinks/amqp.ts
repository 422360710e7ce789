import { type ChannelModel, type ConfirmChannel, connect } from 'amqplib'
import type { EventSinkSettings } from '../lib/event-sink-settings.ts'
import { createFailure } from '../lib/failure.ts'
import { ackMaxMs, inTime, type Message, type Sink } from './sink.ts'

/**
 * RabbitMQ. A durable topic exchange; the operator binds queues to it. A message that reaches no queue would be lost, so
 * it counts as not acknowledged.
 */
export async function openAmqp({ url, destination }: EventSinkSettings): Promise<Sink> {
  const connection = await connect(url, { timeout: ackMaxMs })
  const broken = createFailure()
  connection.once('close', () => broken.fail(new Error('the connection to the broker was closed')))
  // An error is followed by the close.
  connection.on('error', () => {})
  const channel = await inTime(openChannel(connection, destination)).catch((error: unknown) => {
    connection.close().catch(() => {})
    throw error
  })
  const returned = new Set<string>()
  channel.on('return', ({ properties }) => returned.add(String(properties.messageId)))

  return {
    async publish(messages) {
      const sent = Promise.all(messages.map(async (message) => await send(channel, destination, message)))
      await broken.before(sent)
      if (messages.some(({ id }) => returned.delete(id)))
        throw new Error(`no queue is bound to the exchange ${destination} for these events`)
    },
    close: async () => await connection.close(),
  }
}

async function openChannel(connection: ChannelModel, exchange: string): Promise<ConfirmChannel> {
  const channel = await connection.createConfirmChannel()
  channel.on('error', () => {})
  await channel.assertExchange(exchange, 'topic', { durable: true })
  return channel
}

async function send(channel: ConfirmChannel, exchange: string, message: Message): Promise<void> {
  const { id, type, client, recordId, position, body } = message
  await new Promise<void>((resolve, reject) => {
    channel.publish(
      exchange,
      type,
      body,
      {
        persistent: true,
        mandatory: true,
        messageId: id,
        type,
        contentType: 'application/json',
        headers: { client, record: recordId, position },
      },
      (error) =>
        error ? reject(error instanceof Error ? error : new Error('the broker refused an event')) : resolve(),
    )
  })
}
