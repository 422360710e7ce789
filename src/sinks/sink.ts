import type { EventSinkSettings } from '../lib/event-sink-settings.ts'

/** An event for a message broker. */
export type Message = {
  /** The event's id: a broker or a consumer recognizes a repetition by it. */
  id: string
  type: string
  /** The client id of the merchant. */
  client: string
  recordId: string
  position: string
  /** The body of its webhook. */
  body: Buffer
}

/** A connection to a message broker. */
export type Sink = {
  /**
   * Resolves when the broker has stored all of them.
   * @throws {Error} if it has not acknowledged one
   */
  publish(messages: Message[]): Promise<void>
  close(): Promise<void>
}

export type OpenSink = () => Promise<Sink>

/** How long a broker may take to acknowledge. */
export const ackMaxMs = 10_000

/** The clients are optional peers: installations without a broker do not carry them. */
const packages = { nats: '@nats-io/transport-node @nats-io/jetstream', amqp: 'amqplib' }

/** Loads the client of the broker. */
export async function loadSink(settings: EventSinkSettings): Promise<OpenSink> {
  try {
    if (settings.kind === 'nats') {
      const { openNats } = await import('./nats.ts')
      return async () => await openNats(settings)
    }
    const { openAmqp } = await import('./amqp.ts')
    return async () => await openAmqp(settings)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new Error(`EVENT_SINK needs packages that are not installed: npm install ${packages[settings.kind]}`)
  }
}
