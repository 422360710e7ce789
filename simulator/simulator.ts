import { setMaxListeners } from 'node:events'
import type pg from 'pg'
import { createBatcher } from '../src/lib/batch.ts'
import type { Clock } from '../src/lib/clock.ts'
import { notifyReceiver } from './callbacks.ts'
import { decideDispute, openDispute, returnUnannounced } from './disputes.ts'
import { type Disturb, disturbed } from './disturb.ts'
import { encodeCallback } from './encode-answer.ts'
import { type FaultProfileInput, openFaultProfile, toProfileView } from './faults/profile-store.ts'
import { readTruth, type Truth } from './faults/truth.ts'
import { type HttpRequest, type HttpResponse, problem } from './http.ts'
import { parseBaseUrl } from './location.ts'
import type { Log, Network, SendCallback } from './network.ts'
import { createScopeReader } from './oauth.ts'
import { pay } from './pay.ts'
import { newSigningJwk, readSigningJwk } from './payload.ts'
import { returnPayout } from './payouts.ts'
import { notifyOfPix, toPix } from './pix.ts'
import { countPix, insertPixes, listPix, type NewPix, type PixRow } from './pix-store.ts'
import { plain, type Quirks } from './quirks.ts'
import { receiverKey } from './receiver-account.ts'
import { route } from './route.ts'
import type { Controls } from './sandbox.ts'
import { notifyWhenSettled } from './settlement.ts'
import { openShared } from './shared.ts'
import {
  type ChargeRow,
  ensureSchema,
  findCharges,
  findWebhook,
  insertBaseUrl,
  insertCharges,
  listBaseUrls,
  loadSecrets,
} from './store.ts'
import { advance } from './time.ts'
import { listWaiting } from './time-store.ts'
import { createTokenLimit } from './token-limit.ts'

export type SimulatorOptions = {
  /** Its state is in this database, in the schema `simulator`. It survives restarts, and processes share it. */
  pool: pg.Pool
  clock: Clock
  /** The base URL of the locations of its charges: the address of the server that calls `handle`. */
  publicBaseUrl: string
  sendCallback: SendCallback
  log: Log
  /** This PSP's differences from the standard (dialects.ts). None by default. */
  dialect?: Partial<Quirks>
  /** Opens the sandbox controls to a caller with this bearer token, whatever the dialect's own tokens look like. */
  controlToken?: string
  /**
   * Lets requests fail on their way, for tests: before or after they took effect. Callbacks and `pay` are not
   * disturbed.
   */
  disturb?: Disturb
  /** The network's new fault profile. Unchanged if not given; the initial one is honest. */
  personality?: FaultProfileInput
}

/** The PSP, and the {@link Controls} with which a test or a developer makes the network act. */
export type Simulator = Controls & {
  /** Answers a request to the PSP. Never rejects. */
  handle(request: HttpRequest): Promise<HttpResponse>
  /** What really happened, whatever the PSP reports. */
  truth(): Promise<Truth>
  /** Ends pauses and late answers, and waits for running callbacks. The pool stays open. */
  close(): Promise<void>
}

/**
 * A simulated Pix network: a PSP with the Central Bank's API Pix, and a payer's bank. It knows nothing of the gateway,
 * and to the gateway it is one more PSP.
 *
 * Some amounts cause faults: of charges (charges.ts) 4220422 cents is refused, 5040504 is created but answered too
 * late, and 700001 to 700012 are paid in unusual ways (faults/traits.ts); of returns (returns.ts) 800001 to
 * 800004; of payouts 900001 to 900024 (spi-codes.ts) and 900090 to 900092 (payouts.ts). A fault profile causes such
 * faults at random, and lost answers (faults/profile.ts).
 */
export async function createSimulator(options: SimulatorOptions): Promise<Simulator> {
  const closing = new AbortController()
  // Each pending callback adds a listener, and there may be thousands.
  setMaxListeners(0, closing.signal)
  const tasks = new Set<Promise<void>>()
  const network = await openNetwork(options, { closing: closing.signal, inBackground })

  const answerLocally = (request: HttpRequest) => answer(network, controls, request)

  const controls: Controls = {
    pay: (input) => pay({ network, onPaid: notifyInBackground }, input),
    openDispute: (input) => openDispute(network, input),
    decideDispute: (input) => decideDispute(network, input),
    returnUnannounced: (input) => returnUnannounced(network, input),
    returnPayout: (input) => returnPayout(network, input),
    personality: async (input) =>
      toProfileView(input ? await network.faultProfile.change(input) : await network.faultProfile.current()),
    waiting: async () => await listWaiting(network.pool, network.clock.now()),
    advance: (input) => advance(network, input),
  }

  function notifyInBackground(pix: NewPix) {
    const { endToEndId, shownAt, behaviours } = pix
    if (shownAt === null) {
      const reported = toPix({ ...pix, returns: [] }, network.clock.now())
      inBackground(async () => await notifyReceiver(network, reported, behaviours))
    } else {
      notifyWhenSettled(network, { settlesAt: shownAt }, async () => await notifyOfPix(network, endToEndId, behaviours))
    }
  }

  function inBackground(work: () => Promise<void>) {
    const task = work()
      .catch((error: unknown) => network.log.warn({ err: error }, 'The simulator failed in the background'))
      .finally(() => tasks.delete(task))
    tasks.add(task)
  }

  const { disturb } = options
  return {
    handle: disturb
      ? async (request) => await disturbed(await disturb(request), () => answerLocally(request))
      : answerLocally,
    ...controls,
    truth: async () => await readTruth(network),
    close: async () => {
      closing.abort()
      await Promise.allSettled(tasks)
    },
  }
}

async function openNetwork(
  options: SimulatorOptions,
  life: Pick<Network, 'closing' | 'inBackground'>,
): Promise<Network> {
  const { pool, clock, log, controlToken = null } = options
  const quirks = options.dialect ? { ...plain, ...options.dialect } : plain
  const sendCallback: SendCallback = async (to, reported, how) => {
    const { url, body } = encodeCallback(quirks, to, reported)
    return await options.sendCallback(url, body, how)
  }
  const tokenLimit = createTokenLimit(clock, quirks.tokensPerMinute)
  const baseUrl = parseBaseUrl(options.publicBaseUrl)
  await ensureSchema(pool)
  await insertBaseUrl(pool, baseUrl)
  const secrets = await loadSecrets(pool, await newSigningJwk())
  const signer = await readSigningJwk(secrets.signingJwk)
  const faultProfile = openFaultProfile(pool)
  if (options.personality) await faultProfile.change(options.personality)
  const readScopes = createScopeReader({ clock, tokenKey: secrets.tokenKey })
  const dialect = { quirks, tokenLimit, readScopes, controlToken, sendCallback }
  return { pool, clock, log, baseUrl, secrets, signer, faultProfile, ...dialect, ...openQueues(pool), ...life }
}

function openQueues(pool: pg.Pool) {
  return {
    insertCharge: batched('simulator: insert charges', async (rows: ChargeRow[]) => {
      const inserted = await insertCharges(pool, rows)
      // If one batch contains an id twice, the first entry created it: `delete` is true only once.
      return rows.map(({ id }) => inserted.delete(id))
    }),
    findCharge: batched('simulator: find charges', async (ids: string[]) => {
      const found = await findCharges(pool, ids)
      return ids.map((id) => found.get(id) ?? null)
    }),
    insertPix: batched(
      'simulator: insert payments',
      async (pixes: NewPix[]) => {
        const inserted = await insertPixes(pool, pixes)
        return pixes.map(({ endToEndId }) => inserted.has(endToEndId))
      },
      // Payments that come closer together share the commit, and their callbacks leave together.
      { intervalMs: 20 },
    ),
    readPix: createPixReader(pool),
    listBaseUrls: batched('simulator: list addresses', async (calls: undefined[]) => {
      const urls = await listBaseUrls(pool)
      return calls.map(() => urls)
    }),
    webhook: openShared(() => findWebhook(pool, receiverKey)),
  }
}

/** How many lists may be read page by page at the same time. */
const readingsMax = 8

/** A list that is being read page by page, with the position of the next page. */
type Reading = { total: number; next: { page: number; pageSize: number; after: PixRow | undefined } }

/**
 * Later pages use the count of the first page, and continue after the last row of the previous page. Counting 20,000
 * rows again for each hundred, or skipping all rows read, would take longer than everything else.
 */
function createPixReader(pool: pg.Pool): Network['readPix'] {
  const readings = new Map<string, Reading>()
  return async (filter, { page, pageSize }) => {
    const { now: _, ...criteria } = filter
    const list = JSON.stringify(criteria)
    const before = page > 0 ? readings.get(list) : undefined
    const total = before?.total ?? (await countPix(pool, filter))
    const { next } = before ?? {}
    const isNext = next?.page === page && next.pageSize === pageSize
    const from = isNext && next.after ? { after: next.after } : { offset: page * pageSize }
    const rows = await listPix(pool, filter, { limit: pageSize, from })
    readings.delete(list)
    readings.set(list, { total, next: { page: page + 1, pageSize, after: rows.at(-1) } })
    for (const oldest of [...readings.keys()].slice(0, -readingsMax)) readings.delete(oldest)
    return { total, rows }
  }
}

async function answer(network: Network, controls: Controls, request: HttpRequest): Promise<HttpResponse> {
  try {
    return await route(network, controls, request)
  } catch (error) {
    network.log.warn({ err: error }, 'The simulator could not answer')
    return problem('ServicoIndisponivel', 'Ocorreu uma falha no simulador.')
  }
}

/**
 * Collects requests while another statement runs, and sends them in one statement. Larger batches gain nothing. A batch
 * of eight or more does not wait to grow: a client whose connections all wait for charges sends no more requests, and a
 * backlog would never shrink. Payments wait for their interval, unless half a batch is there.
 */
function batched<Item, Result>(
  name: string,
  run: (items: Item[]) => Promise<Result[]>,
  options: { intervalMs?: number } = {},
): (item: Item) => Promise<Result> {
  return createBatcher({
    name,
    run,
    maxBatchSize: 128,
    maxConcurrency: 1,
    minConcurrentBatch: 8,
    lingerMs: 2,
    retryIndividually: () => false,
    ...options,
  })
}
