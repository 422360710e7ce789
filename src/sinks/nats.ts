import { jetstream } from '@nats-io/jetstream'
import { connect, headers } from '@nats-io/transport-node'
import type { EventSinkSettings } from '../lib/event-sink-settings.ts'
import { ackMaxMs, type Message, type Sink } from './sink.ts'

/** NATS JetStream. The operator must create a stream for the subjects: without one, NATS acknowledges nothing. */
export async function openNats({ url, destination }: EventSinkSettings): Promise<Sink> {
  const { username, password } = new URL(url)
  const connection = await connect({
    servers: url.replace(/^[^:]+:\/\/(?:[^@/]*@)?/, '').replace(/\/$/, ''),
    ...(url.startsWith('tls:') && { tls: {} }),
    ...(password !== '' && { user: decodeURIComponent(username), pass: decodeURIComponent(password) }),
    ...(password === '' && username !== '' && { token: decodeURIComponent(username) }),
    name: 'guiche',
    timeout: ackMaxMs,
    // follow.ts connects again.
    reconnect: false,
  })
  const stream = jetstream(connection, { timeout: ackMaxMs })

  return {
    async publish(messages) {
      await Promise.all(
        messages.map(async (message) => {
          await stream.publish(`${destination}.${message.type}`, message.body, {
            msgID: message.id,
            headers: toHeaders(message),
          })
        }),
      )
    },
    close: async () => await connection.close(),
  }
}

function toHeaders({ client, recordId, position }: Message) {
  const all = headers()
  all.set('Guiche-Client', client)
  all.set('Guiche-Record', recordId)
  all.set('Guiche-Position', position)
  return all
}
