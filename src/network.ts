import type { Logger } from 'pino'
import { request } from 'undici'
import { receiverAccount, receiverKey, simulatorCredentials } from '../simulator/receiver-account.ts'
import type { Simulator } from '../simulator/simulator.ts'
import { createBacenAcquirer } from './acquirers/bacen/adapter.ts'
import { standardProfile, withOverrides } from './acquirers/bacen/profile.ts'
import { connect, type OpenAcquirer, openAcquirer } from './acquirers/open.ts'
import type { RouteSettings } from './acquirers/routes.ts'
import type { AcquirerSettings, AcquirersSettings } from './acquirers/settings.ts'
import type { Config } from './config.ts'
import type { Db } from './db/sql.ts'
import { commonEnvironment, type Environment, enterEnvironment } from './environment.ts'
import type { Clock } from './lib/clock.ts'
import { fieldErrorCodes } from './lib/errors.ts'
import { cents } from './lib/money.ts'
import type { DueCountsAtBank, SandboxWaiting } from './sandbox/clock.ts'
import type { ControlOutcome } from './sandbox/controls.ts'
import type { SandboxPersonality } from './sandbox/personality.ts'
import type { Sandbox } from './sandbox/routes.ts'

/**
 * All acquirers: those of ACQUIRERS_FILE, or the simulated network, which is reached through the same adapter as any
 * PSP.
 */
export type Network = {
  acquirers: NetworkAcquirer[]
  routes: readonly RouteSettings[]
  environment: Environment
  /** The controls of the simulated network; null with real acquirers. */
  sandbox: Sandbox | null
  close(): Promise<void>
}

export type NetworkAcquirer = Pick<OpenAcquirer, 'acquirer'> & {
  breaker: OpenAcquirer['breaker'] | null
  callbacks: AcquirerSettings['callbacks']
}

export const simulatorName = 'simulator'
export const timeoutMs = 10_000

type Options = {
  config: Config
  db: Db
  clock: Clock
  log: Logger
  baseUrl: string
  /** Posts to a path of this service without a socket. */
  postCallback: (path: string, body: unknown) => Promise<number>
}

/**
 * Loads the reader of the settings file, or the simulator, only if it is used: each takes a tenth of the start time.
 * @throws {Error} if the database belongs to another environment
 */
export async function openNetwork(options: Options): Promise<Network> {
  const { acquirersFile, simulatorUrl, variable } = options.config
  if (acquirersFile !== null) {
    const { readAcquirersFile } = await import('./acquirers/settings.ts')
    const settings = readAcquirersFile({ path: acquirersFile, variable, clock: options.clock })
    const environment = commonEnvironment(settings.acquirers)
    await enterEnvironment(options.db, environment)
    return openSettings(settings, environment, options)
  }
  await enterEnvironment(options.db, 'simulated')
  return simulatorUrl === null ? await openLocal(options) : openRemote(simulatorUrl, options)
}

function openSettings(
  { acquirers, routes }: AcquirersSettings,
  environment: Environment,
  { clock, log }: Pick<Options, 'clock' | 'log'>,
): Network {
  const opened = acquirers.map((settings) => ({ ...openAcquirer(settings, { clock, log }), ...settings }))
  return {
    acquirers: opened,
    routes,
    environment,
    sandbox: null,
    close: async () => {
      await Promise.all(opened.map(({ close }) => close()))
    },
  }
}

async function openLocal({ db, clock, log, baseUrl, postCallback }: Options): Promise<Network> {
  const { createSimulator } = await import('../simulator/simulator.ts')
  const simulator = await createSimulator({
    pool: db.pool,
    clock,
    publicBaseUrl: baseUrl,
    // Several processes share one simulator's state. Each receives the callbacks of payments made at itself.
    sendCallback: async (url, body) => await postCallback(new URL(url).pathname, body),
    log,
  })
  const acquirer = createBacenAcquirer({ ...simulated, send: simulator.handle, isRemote: false, clock })
  return {
    acquirers: [{ acquirer, breaker: null, callbacks: {} }],
    routes: [],
    environment: 'simulated',
    sandbox: {
      ...toSandbox(simulator),
      serve: async (path) => await simulator.handle({ method: 'GET', path, query: {}, headers: {}, body: undefined }),
    },
    close: async () => await simulator.close(),
  }
}

/** Without a circuit breaker: a person who tests a bank that loses answers should see each of them. */
function openRemote(url: string, { clock, log }: Options): Network {
  const { send, close } = connect(
    { name: simulatorName, hosts: { baseUrl: url }, tls: null, timeoutMs },
    { clock, log },
  )
  const acquirer = createBacenAcquirer({ ...simulated, send, isRemote: true, timeoutMs, clock })
  return {
    acquirers: [{ acquirer, breaker: null, callbacks: {} }],
    routes: [],
    environment: 'simulated',
    sandbox: { ...toRemoteSandbox(url), serve: null },
    close,
  }
}

const simulated = {
  name: simulatorName,
  credentials: simulatorCredentials,
  chave: receiverKey,
  receiver: receiverAccount,
  profile: withOverrides(standardProfile, {
    offers: { payouts: true, disputes: true, defences: true, balance: 'efi' },
  }),
}

/** The sandbox controls, for the simulator in this process. */
function toSandbox(simulator: Simulator): Omit<Sandbox, 'serve'> {
  return {
    pay: async ({ payer, ...payment }) => await simulator.pay({ ...inCents(payment), ...(payer && { payer }) }),
    openDispute: async (input) => await simulator.openDispute(inCents(input)),
    decideDispute: async (input) => await simulator.decideDispute(input),
    returnUnannounced: async (input) => await simulator.returnUnannounced(inCents(input)),
    returnPayout: async (input) => await simulator.returnPayout(inCents(input)),
    personality: async (input) => await simulator.personality(input),
    waiting: async () => await simulator.waiting(),
    advance: async (input) => await simulator.advance(input),
  }
}

function inCents<Input extends { amount?: number }>({ amount, ...others }: Input) {
  return { ...others, ...(amount !== undefined && { amount: cents(amount) }) }
}

/** The sandbox controls, for a simulator that runs separately. */
function toRemoteSandbox(url: string): Omit<Sandbox, 'serve'> {
  const control = async (name: string, input: object): Promise<ControlOutcome> => {
    const body = await postControl(url, name, input)
    return typeof body.id === 'string' ? { ok: true, id: body.id } : toRefusal(body)
  }
  return {
    pay: async (payment) => {
      const body = await postControl(url, 'payment', payment)
      return typeof body.endToEndId === 'string' ? { ok: true, endToEndId: body.endToEndId } : toRefusal(body)
    },
    openDispute: async (input) => await control('infraction', input),
    decideDispute: async (input) => await control('decision', input),
    returnUnannounced: async (input) => await control('return', input),
    returnPayout: async (input) => await control('payout-return', input),
    personality: async (input) => toPersonality(await postControl(url, 'personality', input ?? {})),
    waiting: async () => toAnswer<SandboxWaiting>(await postControl(url, 'waiting', {}), 'txids'),
    advance: async (input) => toAnswer<DueCountsAtBank>(await postControl(url, 'clock', input), 'charges'),
  }
}

type ControlAnswer = Partial<SandboxPersonality> & {
  id?: string
  endToEndId?: string
  detail?: string
  violacoes?: { propriedade: string }[]
}

/**
 * Returns the answer of a control: a success or a refusal. Any other answer is not caused by the input: it means that
 * the simulator failed, is older than this service, or is not the plain one that SIMULATOR_URL needs.
 *
 * @throws {Error} if the simulator issues no token, does not have the control, or fails
 */
async function postControl(url: string, name: string, input: object): Promise<ControlAnswer> {
  const { clientId, clientSecret } = simulatorCredentials
  const signal = AbortSignal.timeout(timeoutMs)
  const token = await request(`${url}/oauth/token`, {
    method: 'POST',
    body: 'grant_type=client_credentials',
    headers: {
      authorization: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    signal,
  })
  if (token.statusCode !== 200) {
    await token.body.dump()
    throw new Error(`The simulator at SIMULATOR_URL answered ${token.statusCode} to a request for a token.`)
  }
  const { access_token: accessToken } = (await token.body.json()) as { access_token: string }
  const answer = await request(`${url}/sandbox/${name}`, {
    method: 'POST',
    body: JSON.stringify(input),
    headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
    signal,
  })
  if (answered.has(answer.statusCode)) return (await answer.body.json()) as ControlAnswer
  await answer.body.dump()
  throw new Error(
    answer.statusCode === 404
      ? `The simulator does not have the control ${name}. Is it as new as this service?`
      : `The simulator answered ${answer.statusCode} to the control ${name}.`,
  )
}

/** A success; an input that the simulator does not accept; a command that it refuses. */
const answered = new Set([200, 400, 422])

function toPersonality({ name, seed, traits, detail }: ControlAnswer): SandboxPersonality {
  if (name === undefined || seed === undefined || !traits)
    throw new Error(detail ?? 'The simulator does not report its fault profile.')
  return { name, seed, traits }
}

/** The answer of a control that refuses nothing; `field` is one of its fields. */
function toAnswer<Answer extends object>(answer: ControlAnswer & Partial<Answer>, field: keyof Answer): Answer {
  if (field in answer) return answer as Answer
  throw new Error(answer.detail ?? `The answer of the simulator has no ${String(field)}. Is it as new as this service?`)
}

function toRefusal(body: ControlAnswer): Extract<ControlOutcome, { ok: false }> {
  return {
    ok: false,
    code: fieldErrorCodes.find((code) => code === body.violacoes?.[0]?.propriedade) ?? 'refused',
    message: body.detail ?? 'The simulator refused it.',
  }
}
