import { randomInt } from 'node:crypto'
import { pino } from 'pino'
import type { Disturbance } from '../../simulator/disturb.ts'
import { receiverAccount, receiverKey, simulatorCredentials } from '../../simulator/receiver-account.ts'
import { createSimulator, type Simulator } from '../../simulator/simulator.ts'
import { createBacenAcquirer } from '../../src/acquirers/bacen/adapter.ts'
import { createRegistry } from '../../src/acquirers/registry.ts'
import { scopes } from '../../src/auth/scopes.ts'
import { loadSecretKey } from '../../src/auth/secret-key.ts'
import { createCheckWriter, createNoticeProcessor, type ProcessDeps } from '../../src/callbacks/process.ts'
import { createNoticeWriter, type ReceiveDeps } from '../../src/callbacks/receive.ts'
import type { InboxRow } from '../../src/callbacks/store.ts'
import type { Db } from '../../src/db/sql.ts'
import type { Job } from '../../src/jobs/jobs.ts'
import { releaseJobs } from '../../src/jobs/store.ts'
import type { SecretKey } from '../../src/lib/secrets.ts'
import { createMerchant } from '../../src/merchant.ts'
import { simulatorName } from '../../src/network.ts'
import type { CreateDeps } from '../../src/transactions/create.ts'
import { createTransactionWriter } from '../../src/transactions/insert.ts'
import { transactionJobs } from '../../src/transactions/jobs.ts'
import { createSettlement } from '../../src/transactions/settle.ts'
import { verificationJobs } from '../../src/verification.ts'
import { withdrawalJobs } from '../../src/withdrawals/jobs.ts'
import { type ManualClock, manualClock } from '../support/clock.ts'
import { createTestDatabase } from '../support/database.ts'
import { createRandom, type Random } from '../support/random.ts'
import { createFaultInjector, type FaultInjector, faultyDb, faultySend } from './fault-injector.ts'
import { createMemory, type Memory } from './memory.ts'

/** One process of the service: the dependencies of its operations, its jobs, and what it has in memory. */
export type Process = {
  instance: number
  injector: FaultInjector
  deps: ProcessDeps & ReceiveDeps & CreateDeps
  jobs: Record<string, Job>
  processNotice: ReturnType<typeof createNoticeProcessor>
  /** Callback notices that it has taken and processes next. */
  inHand: InboxRow[]
}

/** A bank, a database that outlives every process, and one process at a time. */
export type World = {
  seed: number
  random: Random
  clock: ManualClock
  /** Without injected faults, for the model's own reads. */
  db: Db
  bank: Simulator
  merchants: string[]
  memory: Memory
  process: Process
  /** Errors that its processes logged, and those of failed jobs: violated assertions would show here. */
  errors: Error[]
  /** Sets the percentage of requests to the bank that are disturbed, each in one of these ways at random. */
  setLosses(percent: number, kinds?: readonly Disturbance[]): void
  /** Starts another process in place of one that has ended. */
  restartProcess(): Promise<void>
  close(): Promise<void>
}

const anyLoss: readonly Disturbance[] = ['time_out_before', 'time_out_after', 'error_500']
/**
 * Requests about money. Token requests are not disturbed: without a token the service would send none of the others.
 */
const disturbed = /^\/(?:cob|pix|v2|v3)(?:\/|$)/

export async function openWorld(seed: number): Promise<World> {
  const random = createRandom(seed)
  // Separate draws: the number of requests to the bank depends on how concurrent steps run.
  const lossRandom = createRandom(seed + 1)
  const clock = manualClock()
  const database = await createTestDatabase()
  const { db } = database
  const { key } = await loadSecretKey(db, null)
  let losses = { percent: 0, kinds: anyLoss }
  const bank = await createSimulator({
    pool: db.pool,
    clock,
    publicBaseUrl: 'http://127.0.0.1:3999',
    // The model delivers callbacks itself: late, twice, in any order.
    sendCallback: async () => 200,
    log: { warn: () => {} },
    disturb: ({ path }) =>
      disturbed.test(path) && lossRandom.percent(losses.percent) ? (lossRandom.pick(losses.kinds) ?? 'none') : 'none',
  })
  const merchants = [await addMerchant(db, key, clock), await addMerchant(db, key, clock)]
  const errors: Error[] = []
  const begin = () => startProcess({ db, bank, clock, key, errors, isRemote: random.percent(50) })
  const world: World = {
    seed,
    random,
    clock,
    db,
    bank,
    merchants,
    memory: createMemory(),
    process: begin(),
    errors,
    setLosses: (percent, kinds = anyLoss) => {
      losses = { percent, kinds }
    },
    async restartProcess() {
      // Another process does this when it can take the dead one's lock.
      await releaseJobs(db, { instance: world.process.instance, inHand: [] })
      world.process = begin()
    },
    async close() {
      await bank.close()
      await database.drop()
    },
  }
  return world
}

async function addMerchant(db: Db, key: SecretKey, clock: ManualClock): Promise<string> {
  const input = { name: 'A shop', scopes: [...scopes] }
  return (await db.transaction(async (tx) => await createMerchant(tx, { clock, key }, input))).merchantId
}

type ProcessOptions = {
  db: Db
  bank: Simulator
  clock: ManualClock
  key: SecretKey
  errors: Error[]
  isRemote: boolean
}

function startProcess({ db: whole, bank, clock, key, errors, isRemote }: ProcessOptions): Process {
  const injector = createFaultInjector()
  const db = faultyDb(whole, injector)
  const acquirer = createBacenAcquirer({
    name: simulatorName,
    send: faultySend(bank.handle, injector),
    isRemote,
    clock,
    credentials: simulatorCredentials,
    chave: receiverKey,
    receiver: receiverAccount,
    profile: { offers: { payouts: true, disputes: true } },
  })
  const inHand: InboxRow[] = []
  const instance = randomInt(2 ** 31 - 1)
  const deps = {
    db,
    clock,
    key,
    acquirers: createRegistry([acquirer]),
    log: keepErrors(errors),
    wakeDeliveries: () => {},
    insertTransaction: createTransactionWriter(db),
    paymentUrlOf: (id: string) => id,
    settlement: createSettlement({ db, clock }),
    keepNotices: createNoticeWriter({ db, clock, instance }),
    workOn: (notices: InboxRow[]) => void inHand.push(...notices),
    writeCheck: createCheckWriter(db),
  }
  const jobs = { ...transactionJobs(deps, deps), ...withdrawalJobs(deps), ...verificationJobs(deps) }
  const processNotice = createNoticeProcessor(deps)
  return { instance, injector, deps, jobs, processNotice, inHand }
}

/** Writes nothing, and collects the errors of log lines. */
function keepErrors(errors: Error[]) {
  const nowhere = { write: () => {} }
  const hooks = {
    logMethod(this: unknown, [data]: unknown[]) {
      if (typeof data === 'object' && data !== null && 'err' in data && data.err instanceof Error) errors.push(data.err)
    },
  }
  return pino({ level: 'warn', hooks }, nowhere)
}
