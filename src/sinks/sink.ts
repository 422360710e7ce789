import { setTimeout as sleep } from 'node:timers/promises'
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

/** Rejects after `ackMaxMs`: a frozen broker answers nothing, and not every client library gives up. */
export async function inTime<Result>(work: Promise<Result>): Promise<Result> {
  const over = new AbortController()
  const late = sleep(ackMaxMs, undefined, { signal: over.signal }).then(() => {
    throw new Error(`the broker did not answer within ${ackMaxMs / 1000} seconds`)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    over.abort()
  }
}

/** The messages in their order, in batches with at most so many messages and bytes. */
export function inBatches(messages: Message[], max: { count: number; bytes: number }): Message[][] {
  const batches: Message[][] = []
  let bytes = 0
  for (const message of messages) {
    const batch = batches.at(-1)
    bytes += message.body.length
    if (batch && batch.length < max.count && bytes <= max.bytes) batch.push(message)
    else {
      batches.push([message])
      bytes = message.body.length
    }
  }
  return batches
}

/** What Kafka and SQS carry beside the body, by name. */
export function attributesOf({ id, type, client, recordId, position }: Message): [name: string, value: string][] {
  return Object.entries({ id, type, client, record: recordId, position })
}

/** The client libraries are optional peer dependencies: an installation without a broker does not need them. */
const packages = {
  nats: '@nats-io/transport-node @nats-io/jetstream',
  amqp: 'amqplib',
  kafka: '@platformatic/kafka',
  sqs: '@aws-sdk/client-sqs',
}

const open: Record<EventSinkSettings['kind'], () => Promise<(settings: EventSinkSettings) => Promise<Sink>>> = {
  nats: async () => (await import('./nats.ts')).openNats,
  amqp: async () => (await import('./amqp.ts')).openAmqp,
  kafka: async () => (await import('./kafka.ts')).openKafka,
  sqs: async () => (await import('./sqs.ts')).openSqs,
}

/** Loads the client of the broker. */
export async function loadSink(settings: EventSinkSettings): Promise<OpenSink> {
  try {
    const openSink = await open[settings.kind]()
    return async () => await openSink(settings)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new Error(`EVENT_SINK needs packages that are not installed: npm install ${packages[settings.kind]}`)
  }
}
