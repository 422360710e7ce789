import { beforeAll, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import type * as Api from '../../dashboard/src/api.ts'

let api: typeof Api
/** The browser's. */
const fetch = vi.fn<typeof globalThis.fetch>()
beforeAll(async () => {
  vi.stubGlobal('location', { origin: 'https://pix.test' })
  api = await import('../../dashboard/src/api.ts')
  vi.unstubAllGlobals()
})
beforeEach(() => {
  fetch.mockReset()
  vi.stubGlobal('fetch', fetch)
  onTestFinished(() => void vi.unstubAllGlobals())
})

it('sends a request that the ended session refused again, however long the user takes to sign in', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  fetch.mockImplementation(async (_, init) => {
    init?.signal?.throwIfAborted()
    return fetch.mock.calls.length === 1
      ? Response.json({ code: 'not_signed_in' }, { status: 401 })
      : Response.json({ outcome: 'sent' })
  })
  api.onSessionEnded(async () => {
    await new Promise((done) => setTimeout(done, 60_000))
    return true
  })
  onTestFinished(() => api.onSessionEnded(async () => false))
  const sent = api.guiche.webhookEndpoints.test('an-endpoint')
  const outcome = expect(sent).resolves.toEqual({ outcome: 'sent' })
  await vi.advanceTimersByTimeAsync(61_000)
  await outcome
  expect(fetch).toHaveBeenCalledTimes(2)
})

it('reports a connection that broke while the answer arrived as any lost connection', async () => {
  const body = new ReadableStream({ start: (controller) => controller.error(new TypeError('Load failed')) })
  fetch.mockResolvedValue(new Response(body))
  await expect(api.request('GET', '/overview')).rejects.toMatchObject({ status: 0, code: 'connection_failed' })
})
