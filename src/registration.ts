import { setTimeout as pause } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Acquirer } from './acquirers/acquirer.ts'
import { callbackPath } from './callbacks/path.ts'
import type { Cell } from './lib/cell.ts'
import type { SecretKey } from './lib/secrets.ts'
import type { NetworkAcquirer } from './network.ts'

const firstRetryMs = 30_000
const retryMsMax = 60 * 60_000
// How long the start waits for the first registrations: a slow PSP delays it no longer.
const startWaitsMs = 1_000

type Deps = {
  key: SecretKey
  cell: Cell | null
  log: Pick<Logger, 'warn'>
  baseUrl: string
  /** Ends early when the service stops. */
  wait?: (ms: number, stopping: AbortSignal) => Promise<void>
}

/** The address to which an acquirer posts its callbacks, without the `/pix` that it appends. */
export function toCallbackUrl(
  { key, cell, baseUrl }: Pick<Deps, 'key' | 'cell' | 'baseUrl'>,
  { acquirer, callbacks }: Pick<NetworkAcquirer, 'callbacks'> & { acquirer: Pick<Acquirer, 'name' | 'callbacks'> },
): string {
  return (
    (callbacks.baseUrl ?? baseUrl) + callbackPath(key, acquirer.name, { version: acquirer.callbacks.version, cell })
  )
}

/**
 * Registers the callback address with each acquirer, and retries on failure. Until it succeeds, payments are found in
 * the acquirer's list. Runs once this service listens, because some PSPs test the address first.
 */
export async function registerCallbacks(
  deps: Deps,
  acquirers: readonly NetworkAcquirer[],
): Promise<{ stop: () => Promise<void> }> {
  const stopping = new AbortController()
  const registering = acquirers.filter(({ callbacks }) => callbacks.register !== false)
  const first = registering.map(async (one) => {
    const isRegistered = await register(deps, one, stopping.signal)
    if (!isRegistered) void registerLater(deps, one, stopping.signal)
  })
  await Promise.race([Promise.all(first), pause(startWaitsMs, undefined, { ref: false })])
  // A request in progress is not awaited.
  return { stop: async () => stopping.abort() }
}

async function registerLater(deps: Deps, one: NetworkAcquirer, stopping: AbortSignal): Promise<void> {
  const { wait = waited } = deps
  for (let waitMs = firstRetryMs; ; waitMs = Math.min(waitMs * 2, retryMsMax)) {
    await wait(waitMs, stopping)
    if (stopping.aborted || (await register(deps, one, stopping))) return
  }
}

async function waited(ms: number, signal: AbortSignal): Promise<void> {
  await pause(ms, undefined, { signal, ref: false }).catch(() => {})
}

/** False if it failed. */
async function register(deps: Deps, one: NetworkAcquirer, stopping: AbortSignal): Promise<boolean> {
  const { name } = one.acquirer
  try {
    await one.acquirer.registerCallback(toCallbackUrl(deps, one))
    return true
  } catch (error) {
    if (stopping.aborted) return false
    deps.log.warn(
      { acquirer: name, reason: error instanceof Error ? error.message : String(error) },
      `the address for callbacks could not be registered and will be tried again: payments are found in the acquirer’s list meanwhile. \`npx guiche acquirer check ${name}\` shows more`,
    )
    return false
  }
}
