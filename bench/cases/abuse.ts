import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type Bench, toRow } from '../bench.ts'
import { type Job, type Report, toRequest } from '../load/job.ts'
import { generate } from '../processes.ts'
import { median, toMs } from '../results.ts'
import {
  addMerchants,
  fetchToken,
  type Merchant,
  makeDataDir,
  removeDataDir,
  seedFolder,
  startService,
} from '../service.ts'
import { createJob } from './create.ts'

/** Enough rows for a search by part of a name to cost tens of milliseconds. */
const seeded = 100_000
/** The creates of all other merchants together: an ordinary afternoon of ten shops. */
const createsPerSecond = 50
const ratioMax = 2

type Stop = () => Promise<void>
type Attack = (target: { port: number; token: string; seconds: number }) => Promise<Stop>

/** One caller with a token and one machine, in the ways that were seen to stop the service for all others. */
const attacks: Record<string, Attack> = {
  'bodies of 20,000 empty items, 16 connections': loop(16, (token) => ({
    method: 'POST',
    path: '/transaction',
    token,
    body: { items: Array.from({ length: 20_000 }, () => ({})) },
  })),
  'searches for a part of a name, 64 connections': loop(64, (token) => ({
    method: 'GET',
    path: '/transaction?customerName=a',
    token,
  })),
  'deep pages, 16 connections': loop(16, (token) => ({
    method: 'GET',
    path: '/transaction?minAmount=2&page=400&perPage=100',
    token,
  })),
  'the API document, 32 connections': loop(32, () => ({ method: 'GET', path: '/openapi.json' })),
  '400 exports that nobody reads': async ({ port, token }) => {
    const head = `GET /transaction HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\naccept: text/csv\r\n\r\n`
    return await openConnections(port, 400, (socket) => socket.pause().write(head))
  },
  '5,000 idle connections': async ({ port }) => await openConnections(port, 5_000, (socket) => socket.pause()),
}

/** Creates of ten merchants while another caller does its worst to slow them, with the service's default limits. */
export async function abuse({ results, rounds, seconds, say }: Bench): Promise<void> {
  const dataDir = await makeDataDir()
  try {
    const { largest } = await seedFolder(dataDir, { transactions: seeded, say })
    const environment = {
      RATE_LIMIT_CREATE: '100',
      RATE_LIMIT_READ: '100',
      CONNECTIONS_PER_ADDRESS: '256',
    }
    const service = await startService({ dataDir, environment })
    try {
      const merchants = await addMerchants(service, 10)
      const token = await fetchToken(service.port, largest)
      const { port } = service
      await generate({ ...creates(port, merchants, 3), perSecond: null })
      const seen = new Map(
        Object.keys(attacks).map((name) => [name, { alone: [] as Report[], beside: [] as Report[] }]),
      )
      for (let round = 1; round <= rounds; round += 1) {
        for (const [name, attack] of Object.entries(attacks)) {
          say(`creates beside ${name}, round ${round} of ${rounds}`)
          // Alternating, since the machine's speed changes over time.
          seen.get(name)?.alone.push(await generate(creates(port, merchants, seconds)))
          const stop = await attack({ port, token, seconds: seconds + 2 })
          seen.get(name)?.beside.push(await generate({ ...creates(port, merchants, seconds), warmUpSeconds: 1 }))
          await stop()
          await service.emptyLog()
        }
      }
      results.section(
        'One caller against all others',
        `Creates of ten merchants, ${createsPerSecond} a second over 16 connections, beside one caller who does what it can; limits as they are by default; ${seeded.toLocaleString('en')} transactions.`,
      )
      for (const [name, { alone, beside }] of seen) {
        const p99 = (reports: Report[]) => median(reports.map((report) => toMs(report, 99)))
        results.row(toRow(name, beside, `alone p99 ${p99(alone).toFixed(1)} ms`))
        const ratio = p99(beside) / p99(alone)
        results.target({
          name: `creates beside ${name}, p99 of that alone`,
          kind: 'at most',
          wanted: ratioMax,
          seen: ratio,
          unit: '×',
        })
      }
    } finally {
      await service.stop()
    }
  } finally {
    await removeDataDir(dataDir)
  }
}

function creates(port: number, merchants: Merchant[], seconds: number): Job {
  return { ...createJob({ port, merchants, connections: 16, seconds, warmUpSeconds: 0 }), perSecond: createsPerSecond }
}

/** Sends the next request as soon as the last one is answered, whatever the answer is. */
function loop(connections: number, write: (token: string) => Parameters<typeof toRequest>[0]): Attack {
  return async ({ port, token, seconds }) => {
    const requests = [toRequest(write(token))]
    const job = { port, connections, seconds, warmUpSeconds: 0, perSecond: null, requests, once: false, keep: null }
    const running = generate(job)
    return async () => void (await running)
  }
}

/** From a separate address, so that its limit per address does not affect the others. */
async function openConnections(port: number, count: number, begin: (socket: Socket) => void): Promise<Stop> {
  const sockets: Socket[] = []
  for (let index = 0; index < count; index += 1) {
    const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' }).on('error', () => {})
    sockets.push(socket)
    socket.once('connect', () => begin(socket))
    if (index % 50 === 49) await Promise.race([once(socket, 'connect'), once(socket, 'close')])
  }
  return async () => {
    for (const socket of sockets) socket.destroy()
  }
}
