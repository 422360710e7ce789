import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, inject, it } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import {
  findFreePort,
  makeDataDir,
  type ServiceProcess,
  startAndKill,
  startServiceProcess,
} from '../support/process.ts'
import { createRandom, lengthOf } from '../support/random.ts'
import { eventually, startTestReceiver, type TestReceiver } from '../support/webhooks.ts'
import { findBrokenGuarantees, type Observation } from './observation.ts'
import { fetchSandboxToken, observe, openShops } from './shops.ts'

const shopsCount = 6
/** Normally less than a second; the limit is for a busy machine. */
const quietMaxMs = 120_000

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

it('keeps every guarantee while one process or several are killed in turn, with the bundled PostgreSQL', async () => {
  const { observation, surprises } = await crash({
    rounds: lengthOf({ short: 2, long: 18 }),
    processesOf: (start) => (start % 2) + 1,
  })
  expect(surprises).toEqual([])
  expect(findBrokenGuarantees(observation)).toEqual([])
  // The test proves something only if there was data to lose.
  expect(observation.acknowledged.length).toBeGreaterThan(9)
  expect(observation.paid.length).toBeGreaterThan(6)
}, 900_000)

it('keeps every guarantee while it is killed repeatedly, on a separate PostgreSQL', async () => {
  const database = await createTestDatabase()
  cleanups.push(database.drop)
  const { observation, surprises } = await crash({
    rounds: lengthOf({ short: 1, long: 8 }),
    databaseUrl: database.connectionString,
  })
  expect(surprises).toEqual([])
  expect(findBrokenGuarantees(observation)).toEqual([])
  expect(observation.acknowledged.length).toBeGreaterThan(9)
}, 900_000)

it('would detect a service that acknowledges before it commits', async () => {
  const build = `${inject('build')}-hasty`
  await cp(inject('build'), build, { recursive: true })
  cleanups.push(async () => await rm(build, { recursive: true, force: true }))
  const chunks = join(build, 'src/chunks')
  let planted = 0
  for (const name of (await readdir(chunks)).filter((one) => one.endsWith('.js'))) {
    const code = await readFile(join(chunks, name), 'utf8')
    const hasty = code.replace(
      'deps.insertTransaction(row)',
      '(setTimeout(() => deps.insertTransaction(row).catch(() => {}), 2_000), true)',
    )
    if (hasty === code) continue
    await writeFile(join(chunks, name), hasty)
    planted++
  }
  expect(planted).toBe(1)
  const database = await createTestDatabase()
  cleanups.push(database.drop)
  const { observation } = await crash({ rounds: 1, databaseUrl: database.connectionString, build, quietMaxMs: 1_000 })
  expect(findBrokenGuarantees(observation).join('\n')).toMatch(/is lost/)
}, 900_000)

type Options = {
  rounds: number
  databaseUrl?: string
  /** The number of processes of a start: 0 is the first. One by default. */
  processesOf?: (start: number) => number
  build?: string
  quietMaxMs?: number
}
type Outcome = { observation: Observation; surprises: string[] }

/**
 * Shops create and pay charges while the process is killed at times derived from a seed; then everything is checked.
 */
async function crash({ rounds, databaseUrl, processesOf = () => 1, build, ...options }: Options): Promise<Outcome> {
  const seed = Number(process.env.GUICHE_CRASH_SEED ?? Math.floor(Math.random() * 2 ** 31))
  process.stdout.write(`The seed of this crash test: GUICHE_CRASH_SEED=${seed}\n`)
  const random = createRandom(seed)
  const { dataDir, remove } = await makeDataDir()
  cleanups.push(remove)
  const receiver: TestReceiver = await startTestReceiver()
  cleanups.push(receiver.stop)
  const port = await findFreePort()
  const serviceOf = (start: number) => ({
    dataDir,
    port,
    environment: { PROCESSES: String(processesOf(start)) },
    ...(databaseUrl !== undefined && { databaseUrl }),
    ...(build !== undefined && { build }),
  })

  let running: ServiceProcess = await startServiceProcess(serviceOf(0))
  cleanups.push(async () => {
    running.signal('SIGTERM')
    await running.ended
  })
  const { baseUrl } = running
  const token = await fetchSandboxToken(dataDir, baseUrl)
  const shops = openShops({
    addresses: Array.from({ length: shopsCount }, () => () => baseUrl),
    token,
    webhookUrl: receiver.url,
    name: `crash-${seed}`,
    pauseMs: 20,
  })
  for (let round = 0; round < rounds; round++) {
    const [acknowledged, paid] = [shops.acknowledged.length, shops.paid.length]
    await sleep(100 + random.fraction() * 900)
    // On a busy machine there may be nothing to lose yet.
    await eventually(() => shops.acknowledged.length >= acknowledged + 10 && shops.paid.length >= paid + 4)
    running.signal('SIGKILL')
    await running.ended
    // Sometimes also during a start.
    if (random.percent(30)) await startAndKill(serviceOf(round + 1), random.fraction() * 800)
    running = await startServiceProcess(serviceOf(round + 1))
  }
  await sleep(300)
  await shops.stop()
  const observation = await observe(shops, { baseUrl, token, receiver, quietMaxMs, ...options })
  return { observation, surprises: shops.surprises }
}
