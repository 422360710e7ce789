import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, connect as connectTcp, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { connect as connectAmqp } from 'amqplib'
import { assert } from '../../src/lib/assert.ts'
import { findFreePort } from '../../src/port.ts'

export type Stored = { id: string; type: string; record: string; position: string; body: string }

export type Broker = {
  /** The value of EVENT_SINK. */
  address: string
  /**
   * Kills it without warning, and starts it again with what it had stored. An emulated one only loses its connections.
   */
  restart(): Promise<void>
  /** All messages that it has, in order. Reading removes them from RabbitMQ and SQS. */
  read(): Promise<Stored[]>
  stop(): Promise<void>
}

export function isInstalled(program: string): boolean {
  try {
    execFileSync('which', [program], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** A server in a folder of its own. */
async function startServer(
  command: (folder: string) => { file: string; args: string[]; env?: NodeJS.ProcessEnv },
  port: number,
) {
  const folder = await mkdtemp(join(tmpdir(), 'guiche-broker-'))
  let server: ChildProcess
  const start = async () => {
    const { file, args, env } = command(folder)
    server = spawn(file, args, { env: { ...process.env, ...env }, stdio: 'ignore', detached: true })
    while (!(await isOpen(port))) {
      if (server.exitCode !== null || server.signalCode !== null)
        throw new Error(`${file} ended before it accepted connections`)
      await sleep(20)
    }
  }
  const kill = async () => {
    const ended = once(server, 'exit')
    assert(server.pid, 'the server was started')
    // The whole group: also what it has started.
    process.kill(-server.pid, 'SIGKILL')
    await ended
  }
  await start()
  return {
    restart: async () => {
      await kill()
      await start()
    },
    stop: async () => {
      await kill()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function isOpen(port: number): Promise<boolean> {
  const socket = connectTcp(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

/** NATS with JetStream, and a stream that stores the subjects. */
export async function startNats(): Promise<Broker> {
  const port = await findFreePort('127.0.0.1')
  const server = await startServer(
    (folder) => ({ file: 'nats-server', args: ['-a', '127.0.0.1', '-p', String(port), '-js', '-sd', folder] }),
    port,
  )
  const withStream = async <Result>(
    work: (manager: Awaited<ReturnType<typeof jetstreamManager>>) => Promise<Result>,
  ) => {
    const connection = await connect({ servers: `127.0.0.1:${port}` })
    try {
      return await work(await jetstreamManager(connection))
    } finally {
      await connection.close()
    }
  }
  await withStream(async ({ streams }) => await streams.add({ name: 'GUICHE', subjects: ['guiche.events.>'] }))
  return {
    ...server,
    address: `nats://127.0.0.1:${port}`,
    read: async () =>
      await withStream(async ({ streams }) => {
        const { state } = await streams.info('GUICHE')
        const all: Stored[] = []
        for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
          const message = await streams.getMessage('GUICHE', { seq })
          if (!message) continue
          const header = (name: string) => message.header.get(name)
          all.push({
            id: header('Nats-Msg-Id'),
            type: message.subject.replace('guiche.events.', ''),
            record: header('Guiche-Record'),
            position: header('Guiche-Position'),
            body: message.string(),
          })
        }
        return all
      }),
  }
}

/** RabbitMQ, and a durable queue that gets all events. */
export async function startRabbit(): Promise<Broker> {
  const port = await findFreePort('127.0.0.1')
  const [distributionPort, epmdPort] = [await findFreePort('127.0.0.1'), await findFreePort('127.0.0.1')]
  // Erlang would otherwise start epmd as a daemon, which outlives the test.
  const epmd = spawn('epmd', ['-address', '127.0.0.1', '-port', String(epmdPort)], { stdio: 'ignore' })
  const server = await startServer(
    (folder) => ({
      file: '/usr/lib/rabbitmq/bin/rabbitmq-server',
      args: [],
      env: {
        HOME: folder,
        RABBITMQ_NODENAME: `guiche${port}@localhost`,
        RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
        RABBITMQ_NODE_PORT: String(port),
        RABBITMQ_DIST_PORT: String(distributionPort),
        RABBITMQ_MNESIA_BASE: join(folder, 'data'),
        RABBITMQ_LOG_BASE: join(folder, 'log'),
        RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
        ERL_EPMD_ADDRESS: '127.0.0.1',
        ERL_EPMD_PORT: String(epmdPort),
      },
    }),
    port,
  )
  const address = `amqp://guest:guest@127.0.0.1:${port}`
  const withChannel = async <Result>(
    work: (channel: Awaited<ReturnType<Awaited<ReturnType<typeof connectAmqp>>['createChannel']>>) => Promise<Result>,
  ) => {
    const connection = await connectAmqp(address)
    try {
      return await work(await connection.createChannel())
    } finally {
      await connection.close()
    }
  }
  await withChannel(async (channel) => {
    await channel.assertExchange('guiche.events', 'topic', { durable: true })
    await channel.assertQueue('all', { durable: true })
    await channel.bindQueue('all', 'guiche.events', '#')
  })
  return {
    restart: server.restart,
    stop: async () => {
      await server.stop()
      epmd.kill()
    },
    address,
    read: async () =>
      await withChannel(async (channel) => {
        const all: Stored[] = []
        for (;;) {
          const message = await channel.get('all', { noAck: true })
          if (!message) return all
          const { messageId, type, headers } = message.properties
          all.push({
            id: String(messageId),
            type: String(type),
            record: String(headers?.record),
            position: String(headers?.position),
            body: message.content.toString(),
          })
        }
      }),
  }
}

/**
 * The part of RabbitMQ that opens a connection of AMQP 0-9-1. It gives the first client two answers five seconds late,
 * and refuses the exchange to all others.
 */
export async function startUnwillingRabbit() {
  const counts = { opened: 0, open: 0 }
  const server = createServer((socket) => {
    counts.opened += 1
    counts.open += 1
    const isSlow = counts.opened === 1
    socket.on('error', () => {})
    socket.once('close', () => {
      counts.open -= 1
    })
    const send = (channel: number, hex: string) => {
      const payload = Buffer.from(hex, 'hex')
      const head = Buffer.from([1, 0, channel, 0, 0, 0, payload.length])
      if (socket.writable) socket.write(Buffer.concat([head, payload, Buffer.from([0xce])]))
    }
    const later = (channel: number, hex: string) => setTimeout(send, isSlow ? 5_200 : 0, channel, hex)
    /** By the class and the method of the client's frame. */
    const answers: Record<string, () => void> = {
      header: () => send(0, `000a000a000900000000${longText('PLAIN')}${longText('en_US')}`),
      '000a000b': () => send(0, '000a001e0000000200000000'),
      '000a0028': () => later(0, '000a002900'),
      '0014000a': () => send(1, '0014000b00000000'),
      '0055000a': () => send(1, '0055000b'),
      '0028000a': () => (isSlow ? later(1, '0028000b') : send(1, '001400280196000028000a')),
      '000a0032': () => send(0, '000a0033'),
    }
    let rest = Buffer.alloc(0)
    socket.on('data', (data) => {
      rest = Buffer.concat([rest, data])
      while (rest.length >= 8) {
        const isHeader = rest.toString('latin1', 0, 4) === 'AMQP'
        const length = isHeader ? 8 : 8 + rest.readUInt32BE(3)
        if (rest.length < length) return
        answers[isHeader ? 'header' : rest.toString('hex', 7, 11)]?.()
        rest = rest.subarray(length)
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    counts,
    address: `amqp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.close()
      await once(server, 'close')
    },
  }
}

function longText(text: string): string {
  return text.length.toString(16).padStart(8, '0') + Buffer.from(text).toString('hex')
}
