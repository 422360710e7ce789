import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect as connectTcp, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { CreateQueueCommand, DeleteMessageCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { buildApp, interceptLocalhostDns } from 'fauxqs'
import { findFreePort } from '../../src/port.ts'
import { type Broker, isInstalled, type Stored } from './brokers.ts'

/** Returns the bytes to pass on, for those received in one direction. */
type Rewrite = (bytes: Buffer) => Buffer

const unchanged: Rewrite = (bytes) => bytes

/**
 * A proxy to a server that would lose its data in a restart. A restart of the proxy breaks all connections, so that
 * acknowledgements are lost, and accepts no new ones for 300 ms.
 */
async function startBreakableProxy(
  to: () => number,
  passes: () => { up: Rewrite; down: Rewrite } = () => ({ up: unchanged, down: unchanged }),
) {
  const open = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connectTcp(to(), '127.0.0.1')
    const { up, down } = passes()
    client.on('data', (bytes) => upstream.write(up(bytes)))
    upstream.on('data', (bytes) => client.write(down(bytes)))
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => {
        open.delete(socket)
        other.destroy()
      })
    }
  })
  const port = await findFreePort('127.0.0.1')
  const listen = async () => await once(server.listen(port, '127.0.0.1'), 'listening')
  const close = async () => {
    const closed = once(server, 'close')
    server.close()
    for (const socket of open) socket.destroy()
    await closed
  }
  await listen()
  return {
    port,
    restart: async () => {
      await close()
      await sleep(300)
      await listen()
    },
    close,
  }
}

/** The emulated broker of an older librdkafka knows too little for clients of today. */
export function hasEmulatedKafka(): boolean {
  if (!isInstalled('kcat')) return false
  const [, major, minor] = /librdkafka (\d+)\.(\d+)/.exec(execFileSync('kcat', ['-V'], { encoding: 'utf8' })) ?? []
  return Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 15)
}

/** Kafka as librdkafka emulates it, in the memory of kcat. */
export async function startKafka(): Promise<Broker> {
  const topic = 'guiche.events'
  // kcat emulates the broker for as long as it waits for messages on its input.
  const options = ['-X', 'test.mock.num.brokers=1', '-X', 'debug=mock']
  const server = spawn('kcat', ['-P', '-t', topic, '-b', 'none', ...options], { stdio: ['pipe', 'ignore', 'pipe'] })
  const port = await findEmulatedPort(server)
  const proxy = await startBreakableProxy(
    () => port,
    () => translate({ from: port, to: proxy.port }),
  )
  return {
    address: `kafka://127.0.0.1:${proxy.port}`,
    restart: proxy.restart,
    stop: async () => {
      await proxy.close()
      server.kill('SIGKILL')
    },
    async read() {
      const { stdout } = await promisify(execFile)(
        'kcat',
        ['-C', '-J', '-e', '-q', '-b', `127.0.0.1:${port}`, '-t', topic],
        { maxBuffer: 100_000_000 },
      )
      return stdout.split('\n').flatMap((line): Stored[] => {
        if (line === '') return []
        const { headers, payload } = JSON.parse(line) as { headers: string[]; payload: string }
        const pairs = Array.from({ length: headers.length / 2 }, (_, index) => headers.slice(2 * index, 2 * index + 2))
        const { id, type, record, position } = Object.fromEntries(pairs) as Record<string, string>
        return [
          { id: String(id), type: String(type), record: String(record), position: String(position), body: payload },
        ]
      })
    },
  }
}

async function findEmulatedPort(server: ChildProcess): Promise<number> {
  let printed = ''
  return await new Promise((resolve, reject) => {
    server.once('exit', () => reject(new Error(`kcat has ended: ${printed}`)))
    server.stderr?.setEncoding('utf8').on('data', (text: string) => {
      printed += text
      const [, port] = /bootstrap\.servers=127\.0\.0\.1:(\d+)/.exec(printed) ?? []
      if (port) resolve(Number(port))
    })
  })
}

const apiVersions = 18

/**
 * librdkafka's broker answers ApiVersions up to version 2, this client begins with 3: the request and its answer are
 * rewritten (KIP-511). The broker names its own port, which is replaced too.
 */
function translate({ from, to }: { from: number; to: number }) {
  const rewritten = new Set<number>()
  const up = inFrames((frame) => {
    if (frame.readInt16BE(0) !== apiVersions || frame.readInt16BE(2) < 3) return frame
    rewritten.add(frame.readInt32BE(4))
    const header = Buffer.from(frame.subarray(0, 10 + Math.max(0, frame.readInt16BE(8))))
    header.writeInt16BE(0, 2)
    return header
  })
  const address = (port: number) =>
    Buffer.concat([Buffer.from('127.0.0.1'), Buffer.from([0, 0, port >> 8, port & 255])])
  const down = inFrames((frame) => {
    if (rewritten.delete(frame.readInt32BE(0))) return toVersion3(frame)
    const place = frame.indexOf(address(from))
    if (place >= 0) address(to).copy(frame, place)
    return frame
  })
  return { up, down }
}

/** The answer of version 0: id, error, count, and three numbers for each API. That of version 3 is compact. */
function toVersion3(frame: Buffer): Buffer {
  const count = frame.readInt32BE(6)
  const length = count + 1
  const prefix = length < 128 ? [length] : [(length & 127) | 128, length >> 7]
  const apis = Array.from({ length: count }, (_, index) => [
    frame.subarray(10 + 6 * index, 16 + 6 * index),
    Buffer.from([0]),
  ])
  return Buffer.concat([frame.subarray(0, 6), Buffer.from(prefix), ...apis.flat(), Buffer.from([0, 0, 0, 0, 0])])
}

/** Frames begin with their length in four bytes. */
function inFrames(change: Rewrite): Rewrite {
  let waiting = Buffer.alloc(0)
  return (bytes) => {
    waiting = Buffer.concat([waiting, bytes])
    const out: Buffer[] = []
    while (waiting.length >= 4 && waiting.length >= 4 + waiting.readInt32BE(0)) {
      const end = 4 + waiting.readInt32BE(0)
      const frame = change(Buffer.from(waiting.subarray(4, end)))
      const length = Buffer.alloc(4)
      length.writeInt32BE(frame.length)
      out.push(length, frame)
      waiting = waiting.subarray(end)
    }
    return Buffer.concat(out)
  }
}

/** An emulated SQS with a FIFO queue. Its address is one of *.localhost. */
export async function startSqs(): Promise<Broker> {
  process.env.AWS_ACCESS_KEY_ID = 'test'
  process.env.AWS_SECRET_ACCESS_KEY = 'test'
  const region = 'sa-east-1'
  const restoreDns = interceptLocalhostDns()
  const server = buildApp({ logger: false })
  const port = Number(new URL(await server.listen({ host: '127.0.0.1', port: 0 })).port)
  const proxy = await startBreakableProxy(() => port)
  const client = new SQSClient({ region, endpoint: `http://127.0.0.1:${proxy.port}` })
  const { QueueUrl } = await client.send(
    new CreateQueueCommand({ QueueName: 'guiche.fifo', Attributes: { FifoQueue: 'true' } }),
  )
  return {
    address: `${QueueUrl}?region=${region}`,
    restart: proxy.restart,
    stop: async () => {
      client.destroy()
      await proxy.close()
      await server.close()
      restoreDns()
    },
    async read() {
      const all: Stored[] = []
      for (;;) {
        const options = { MaxNumberOfMessages: 10, MessageAttributeNames: ['All'] }
        const { Messages = [] } = await client.send(new ReceiveMessageCommand({ QueueUrl, ...options }))
        if (Messages.length === 0) return all
        for (const { Body, MessageAttributes, ReceiptHandle } of Messages) {
          const text = (name: string) => String(MessageAttributes?.[name]?.StringValue)
          const message = { id: text('id'), type: text('type'), record: text('record'), position: text('position') }
          all.push({ ...message, body: String(Body) })
          await client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }))
        }
      }
    },
  }
}
