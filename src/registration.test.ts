import { expect, it } from 'vitest'
import { receiverAccount, receiverKey, simulatorCredentials } from '../simulator/receiver-account.ts'
import { createBacenAcquirer } from './acquirers/bacen/adapter.ts'
import type { CallbackSettings } from './acquirers/callbacks.ts'
import { newSecretKey, parseSecretKey } from './lib/secrets.ts'
import { registerCallbacks } from './registration.ts'

const key = parseSecretKey(newSecretKey()) ?? expect.unreachable()

/** A PSP that answers the first registrations (`failures`) with 503. */
function psp(failures: number, callbacks: CallbackSettings = {}) {
  const registered: string[] = []
  let left = failures
  const acquirer = createBacenAcquirer({
    name: 'psp',
    send: async ({ isToken, body }) => {
      if (isToken) return { status: 200, headers: {}, body: '{"access_token":"t","expires_in":3600}' }
      if (left-- > 0) return { status: 503, headers: {}, body: '' }
      registered.push(JSON.parse(body ?? '{}').webhookUrl)
      return { status: 200, headers: {}, body: '' }
    },
    credentials: simulatorCredentials,
    chave: receiverKey,
    receiver: receiverAccount,
    isRemote: true,
  })
  return { registered, one: { acquirer, breaker: null, callbacks } }
}

async function register(one: ReturnType<typeof psp>['one']) {
  const [waits, warnings]: [number[], object[]] = [[], []]
  const registration = await registerCallbacks(
    {
      key,
      cell: null,
      baseUrl: 'https://shop.example',
      log: { warn: (...said: unknown[]) => void warnings.push(said) },
      wait: async (ms) => void waits.push(ms),
    },
    [one],
  )
  return { waits, warnings, registration }
}

it('a registration is retried with growing delays until the PSP accepts it', async () => {
  const { registered, one } = psp(9)
  const { waits, warnings, registration } = await register(one)
  await expect.poll(() => registered).toHaveLength(1)
  expect(registered[0]).toMatch(/^https:\/\/shop\.example\/callbacks\/psp\/[\w-]{43}$/)
  expect(waits).toEqual([30, 60, 120, 240, 480, 960, 1920, 3600, 3600].map((seconds) => seconds * 1000))
  expect(warnings).toHaveLength(9)
  expect(JSON.stringify(warnings)).toContain('The acquirer answered 503')
  await registration.stop()
})

it('a registration happens once if it succeeds, and not at all if it is done by hand', async () => {
  const { registered, one } = psp(0, { baseUrl: 'https://callbacks.example' })
  await (await register(one)).registration.stop()
  expect(registered).toEqual([expect.stringMatching(/^https:\/\/callbacks\.example\/callbacks\/psp\//)])
  const byHand = psp(0, { register: false })
  await (await register(byHand.one)).registration.stop()
  expect(byHand.registered).toEqual([])
})

it('a registration is not tried again once the service stops', async () => {
  const { registered, one } = psp(1)
  let waits = 0
  const wait = async (_: number, stopping: AbortSignal) => {
    waits += 1
    await new Promise((resolve) => stopping.addEventListener('abort', resolve))
  }
  const registration = await registerCallbacks(
    { key, cell: null, baseUrl: 'https://shop.example', log: { warn() {} }, wait },
    [one],
  )
  await expect.poll(() => waits).toBe(1)
  await registration.stop()
  // Another try would succeed by now.
  await new Promise((resolve) => setTimeout(resolve, 25))
  expect(registered).toEqual([])
})
