import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { packageFolder } from '../src/db/migrate.ts'
import type { Bench } from './bench.ts'
import { abuse } from './cases/abuse.ts'
import { create } from './cases/create.ts'
import { deliveries } from './cases/deliveries.ts'
import { expire } from './cases/expire.ts'
import { fetchById } from './cases/fetch.ts'
import { lists } from './cases/lists.ts'
import { mixed } from './cases/mixed.ts'
import { paid } from './cases/paid.ts'
import { memory, start } from './cases/process.ts'
import { remote } from './cases/remote.ts'
import { settle } from './cases/settle.ts'
import { qrCode, token } from './cases/small.ts'
import { ladder, rungsDefault } from './ladder.ts'
import { profileCreate } from './profile.ts'
import { createResults } from './results.ts'
import { type Server, startHello, startPeer } from './servers.ts'
import { addMerchants, makeDataDir, processesDefault, removeDataDir, startService } from './service.ts'
import { soak } from './soak.ts'

/** In this order; `--only create,fetch` runs only those, in the order given. */
const cases: Record<string, (bench: Bench) => Promise<void>> = {
  create,
  fetch: fetchById,
  token,
  qr: qrCode,
  paid,
  settle,
  expire,
  deliveries,
  lists,
  remote,
  mixed,
  abuse,
  memory,
  start,
}

const usage = `npm run bench -- [--only ${Object.keys(cases).join(',')}] [--full] [--write] [--no-peers] [--rounds 3] [--seconds 4] [--statements]
npm run bench -- --profile [--seconds 8]
npm run bench -- --soak [--minutes 60] [--statements]
npm run bench -- --ladder [--rungs ${rungsDefault.join(',')}] [--seconds 15] [--statements]
With --full, --rounds 5 and --seconds 10 are the defaults. All but --profile also take --processes 2. bench/README.md says what is measured.`

const values = parseOptions()
const { processes, statements, rungs } = values
const say = (text: string) => void process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`)

// `process.exit` runs the handlers of the 'exit' event, which stop the processes that were started.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

if (values.profile) print(await profileCreate({ seconds: values.seconds ?? 8 }))
else if (values.soak) print(await soak({ minutes: values.minutes, processes, statements, say }))
else if (values.ladder) print(await ladder({ rungs, seconds: values.seconds ?? 15, processes, statements, say }))
else {
  const results = await runCases()
  print(results)
  if (values.write) writeFileSync(join(packageFolder(), 'bench/RESULTS.md'), results)
}

function parseOptions() {
  try {
    const { values } = parseArgs({
      options: {
        help: { type: 'boolean', default: false },
        full: { type: 'boolean', default: false },
        profile: { type: 'boolean', default: false },
        soak: { type: 'boolean', default: false },
        ladder: { type: 'boolean', default: false },
        rungs: { type: 'string', default: rungsDefault.join(',') },
        statements: { type: 'boolean', default: false },
        minutes: { type: 'string', default: '60' },
        write: { type: 'boolean', default: false },
        only: { type: 'string' },
        peers: { type: 'boolean', default: true },
        rounds: { type: 'string' },
        seconds: { type: 'string' },
        processes: { type: 'string', default: String(processesDefault) },
      },
      allowNegative: true,
    })
    if (!values.help)
      return {
        ...values,
        rungs: toRungs(values.rungs),
        minutes: toPositive('minutes', values.minutes),
        seconds: values.seconds === undefined ? undefined : toPositive('seconds', values.seconds),
        rounds: values.rounds === undefined ? undefined : toCount('rounds', values.rounds),
        processes: toCount('processes', values.processes),
      }
    print(usage)
    process.exit(0)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${usage}\n`)
    process.exit(2)
  }
}

function toPositive(option: string, text: string): number {
  const value = Number(text)
  if (!(Number.isFinite(value) && value > 0)) throw new Error(`--${option} must be a positive number: ${text}`)
  return value
}

function toCount(option: string, text: string): number {
  const value = toPositive(option, text)
  if (!Number.isInteger(value)) throw new Error(`--${option} must be a whole number: ${text}`)
  return value
}

function toRungs(text: string): number[] {
  const rungs = text.split(',').map(Number)
  const isRising = rungs.every((rung, index) => Number.isInteger(rung) && rung > (rungs[index - 1] ?? 0))
  if (!isRising) throw new Error(`--rungs must be rising numbers of creates a second, such as 500,1000: ${text}`)
  return rungs
}

async function runCases(): Promise<string> {
  const isFull = values.full
  const wanted = values.only?.split(',') ?? Object.keys(cases)
  const unknown = wanted.filter((name) => !cases[name])
  if (unknown.length > 0) throw new Error(`There is no case ${unknown.join(', ')}: ${Object.keys(cases).join(', ')}`)
  const results = createResults()
  const dataDir = await makeDataDir()
  say('starting Guichê on an empty folder')
  const service = await startService({ dataDir, processes })
  const others: Server[] = []
  try {
    const merchants = await addMerchants(service, 50)
    const hello = await startHello()
    others.push(hello)
    const peers: Server[] = []
    for (const name of values.peers ? (['express', 'nest'] as const) : []) {
      const peer = await startPeer(service, name, say)
      peers.push(peer)
      others.push(peer)
    }
    const bench: Bench = {
      results,
      isFull,
      rounds: values.rounds ?? (isFull ? 5 : 3),
      seconds: values.seconds ?? (isFull ? 10 : 4),
      processes,
      statements,
      service,
      merchants,
      hello,
      peers,
      say,
    }
    for (const name of wanted) {
      try {
        await cases[name]?.(bench)
      } catch (error) {
        // The results of the other cases, of up to an hour, must not be lost.
        process.exitCode = 1
        process.stderr.write(`${name} failed: ${error instanceof Error ? error.stack : error}\n`)
        results.skip(name, `failed: ${error instanceof Error ? error.message.trim().split('\n').at(-1) : error}`)
      }
    }
    return results.toMarkdown()
  } finally {
    for (const server of others) await server.stop()
    await service.stop()
    await removeDataDir(dataDir)
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
