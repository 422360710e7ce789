import { afterAll, beforeAll, expect, it } from 'vitest'
import { createEmptyDatabase, type TestDatabase } from '../test/support/database.ts'
import { cob, type TestSimulator, testSimulator, tokenRequest, txidOf } from '../test/support/simulator.ts'
import { startSimulatorServer } from './server.ts'

let database: TestDatabase
let simulator: TestSimulator
let server: Awaited<ReturnType<typeof startSimulatorServer>>

beforeAll(async () => {
  database = await createEmptyDatabase()
  simulator = await testSimulator(database.db.pool)
  server = await startSimulatorServer({ simulator, host: '127.0.0.1', port: 0 })
})
afterAll(async () => {
  await server.close()
  await simulator.close()
  await database.drop()
})

async function authorized(): Promise<Record<string, string>> {
  const { headers, body } = tokenRequest()
  const answer = await fetch(`${server.url}/oauth/token`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
    body: body ?? '',
  })
  return { authorization: `Bearer ${Object(await answer.json()).access_token}` }
}

it('serves everything from a token to a payment over HTTP', async () => {
  const headers = await authorized()
  const put = { method: 'PUT', headers, body: JSON.stringify(cob('12.00')) }
  const created = await fetch(`${server.url}/cob/${txidOf(1)}`, put)
  expect([created.status, created.headers.get('content-type')]).toEqual([201, 'application/json'])
  const { pixCopiaECola: uri } = Object(await created.json())
  const paid = await fetch(`${server.url}/sandbox/payment`, { method: 'POST', headers, body: JSON.stringify({ uri }) })
  const { endToEndId } = Object(await paid.json())
  const query = new URLSearchParams({ inicio: '2026-01-01T00:00:00-03:00', fim: '2027-01-01T00:00:00Z' })
  const listed = Object(await (await fetch(`${server.url}/pix?${query.toString()}`, { headers })).json())
  expect(listed.pix).toMatchObject([{ endToEndId, txid: txidOf(1), valor: '12.00' }])
})

it('refuses payments without a token', async () => {
  const answer = await fetch(`${server.url}/sandbox/payment`, { method: 'POST', body: '{}' })
  expect(answer.status).toBe(401)
})

it('refuses a body that is too large, and keeps running', async () => {
  const headers = await authorized()
  const body = 'x'.repeat(8_000_000)
  const answer = await fetch(`${server.url}/cob/${txidOf(2)}`, { method: 'PUT', headers, body }).catch(() => null)
  expect([413, undefined]).toContain(answer?.status)
  expect((await fetch(`${server.url}/cob/${txidOf(2)}`, { headers })).status).toBe(404)
})

it('fails with a clear error when its port is in use', async () => {
  const port = Number(new URL(server.url).port)
  await expect(startSimulatorServer({ simulator, host: '127.0.0.1', port })).rejects.toThrow(/EADDRINUSE/)
})
