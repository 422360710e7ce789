import type { Clock } from '../lib/clock.ts'
import type { Acquirer } from './acquirer.ts'
import { createBacenAcquirer } from './bacen/adapter.ts'
import { createHttpSend, type Send } from './bacen/http.ts'
import { type LiveTls, type Log, openTls } from './bacen/renewal.ts'
import { type Breaker, createBreaker } from './breaker.ts'
import { toCallbackAccess } from './callbacks.ts'
import type { AcquirerSettings } from './settings.ts'

/** An acquirer that is called over the network. */
export type OpenAcquirer = { acquirer: Acquirer; breaker: Breaker; close(): Promise<void> }

// How often a request is sent at most, within its time-out; one that sends money is not repeated.
const triesMax = 3

/** Throws an error with a sentence for the operator when the certificate cannot be used. */
export function openAcquirer(settings: AcquirerSettings, deps: { clock: Clock; log: Log }): OpenAcquirer {
  const { send, tls, close } = connect(settings, deps)
  const breaker = createBreaker({ name: settings.name, log: deps.log })
  const acquirer = createBacenAcquirer({
    ...settings,
    ...deps,
    callbacks: toCallbackAccess(settings.callbacks),
    send,
    tls,
    breaker,
    triesMax,
    isRemote: true,
  })
  return { acquirer, breaker, close }
}

/** The connection alone, with its certificate. */
export function connect(
  { name, tls: files, hosts, timeoutMs }: Pick<AcquirerSettings, 'name' | 'tls' | 'hosts' | 'timeoutMs'>,
  { clock, log }: { clock: Clock; log: Log },
): { send: Send; tls: LiveTls | null; close(): Promise<void> } {
  const tls = files && openTls(files, { clock, log, name })
  return { tls, ...createHttpSend({ ...hosts, timeoutMs, tls }) }
}
