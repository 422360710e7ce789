import { readFileSync, writeFileSync } from 'node:fs'
import { afterEach, expect, it, vi } from 'vitest'
import { fetchSandboxToken } from '../crash/shops.ts'
import { findFreePort, makeDataDir, startServiceProcess } from '../support/process.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

it.each(['1', '2'])(
  'answers 503 while its own PostgreSQL is away, and starts it again (PROCESSES=%s)',
  async (processes) => {
    const { dataDir, remove } = await makeDataDir()
    cleanups.push(remove)
    const environment = { PROCESSES: processes }
    const running = await startServiceProcess({ dataDir, port: await findFreePort(), environment })
    cleanups.push(async () => {
      running.signal('SIGTERM')
      expect(await running.ended).toEqual({ code: 0, signal: null })
    })
    const token = await fetchSandboxToken(dataDir, running.baseUrl)
    const ask = async (method: 'GET' | 'POST', path: string, body?: object) =>
      await fetch(`${running.baseUrl}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      })
    const create = async (amount: number) =>
      await ask('POST', '/transaction', { amount, paymentMethod: 'PIX', pix: {}, idempotencyKey: `amount-${amount}` })
    const before = await create(1_000)
    expect(before.status).toBe(201)
    const { id } = (await before.json()) as { id: string }

    // While this file names another version, no server starts on this folder.
    const [versionFile, pidFile] = [`${dataDir}/postgres/PG_VERSION`, `${dataDir}/postgres/postmaster.pid`]
    const version = readFileSync(versionFile, 'utf8')
    writeFileSync(versionFile, '17\n')
    process.kill(Number(readFileSync(pidFile, 'utf8').split('\n')[0]), 'SIGKILL')
    await vi.waitFor(async () => {
      const away = await create(2_000)
      expect(away.status).toBe(503)
      expect(away.headers.get('retry-after')).toBe('5')
      expect(await away.json()).toMatchObject({ code: 'database_unavailable' })
      expect(running.lines.map(({ msg }) => msg)).toContain('PostgreSQL could not be restarted')
    }, 30_000)
    expect((await ask('GET', '/health/live')).status).toBe(200)
    expect((await ask('GET', '/health/ready')).status).toBe(503)
    writeFileSync(versionFile, version)

    await vi.waitFor(async () => expect((await create(2_000)).status).toBe(201), { timeout: 90_000, interval: 500 })
    expect(await (await ask('GET', `/transaction/${id}`)).json()).toMatchObject({ id, amount: 1_000 })
    expect(running.lines.map(({ msg }) => msg)).toContain('PostgreSQL was restarted')
    // Background work runs again as well.
    const { pixResponse } = (await (await ask('GET', `/transaction/${id}`)).json()) as { pixResponse: { uri: string } }
    await vi.waitFor(
      async () => {
        const paid = await ask('POST', '/sandbox/payment', { uri: pixResponse.uri })
        expect([200, 201, 422]).toContain(paid.status)
        expect(await (await ask('GET', `/transaction/${id}`)).json()).toMatchObject({ status: 'PAID' })
      },
      { timeout: 90_000, interval: 500 },
    )
  },
  180_000,
)
