import { SendMessageBatchCommand, type SendMessageBatchRequestEntry, SQSClient } from '@aws-sdk/client-sqs'
import type { EventSinkSettings } from '../lib/event-sink-settings.ts'
import { ackMaxMs, attributesOf, inBatches, type Message, type Sink } from './sink.ts'

/**
 * SendMessageBatch takes ten messages, and 1 MiB with their attributes; before August 2025 it took 256 KiB:
 * docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessageBatch.html
 */
const batchMax = { count: 10, bytes: 200_000 }

/**
 * Amazon SQS. In a FIFO queue, the events of a record are a message group: they keep their order. The credentials come
 * from AWS's own chain: the environment, the task's or the machine's role.
 */
export async function openSqs({ url, destination: region }: EventSinkSettings): Promise<Sink> {
  const isFifo = url.endsWith('.fifo')
  const client = new SQSClient({
    region,
    endpoint: new URL(url).origin,
    requestHandler: { connectionTimeout: ackMaxMs, requestTimeout: ackMaxMs },
    // follow.ts tries again.
    maxAttempts: 1,
  })

  return {
    async publish(messages) {
      for (const batch of inBatches(messages, batchMax)) {
        const Entries = batch.map((message, index) => toEntry(message, index, isFifo))
        const { Failed = [] } = await client.send(new SendMessageBatchCommand({ QueueUrl: url, Entries }))
        const [failed] = Failed
        if (failed) throw new Error(`the queue refused an event: ${failed.Code} ${failed.Message ?? ''}`)
      }
    },
    async close() {
      client.destroy()
    },
  }
}

function toEntry(message: Message, index: number, isFifo: boolean): SendMessageBatchRequestEntry {
  const { id, recordId, body } = message
  return {
    Id: String(index),
    // SQS takes XML's characters only. JSON.stringify leaves two others as they are.
    MessageBody: body
      .toString()
      .replaceAll(/[\uFFFE\uFFFF]/g, (character) => `\\u${character.charCodeAt(0).toString(16)}`),
    MessageAttributes: Object.fromEntries(
      attributesOf(message).map(([name, StringValue]) => [name, { DataType: 'String', StringValue }]),
    ),
    ...(isFifo && { MessageGroupId: recordId, MessageDeduplicationId: id }),
  }
}
