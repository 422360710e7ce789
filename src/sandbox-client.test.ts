import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { manualClock } from '../test/support/clock.ts'
import { createTestDatabase, type TestDatabase } from '../test/support/database.ts'
import { testSecretKey } from '../test/support/webhooks.ts'
import { makeSandboxClient } from './sandbox-client.ts'

let database: TestDatabase
let dataDir: string
beforeAll(async () => {
  database = await createTestDatabase()
  dataDir = await mkdtemp(join(tmpdir(), 'guiche-sandbox-'))
})
afterAll(async () => {
  await database.drop()
  await rm(dataDir, { recursive: true })
})

it('is created once, and its file gets a new address from processes that start at the same moment', async () => {
  const deps = { db: database.db, clock: manualClock(new Date()), key: testSecretKey(), dataDir }
  const start = async (baseUrl: string) =>
    await Promise.all(Array.from({ length: 8 }, async () => await makeSandboxClient({ ...deps, baseUrl })))
  const read = async () => JSON.parse(await readFile(join(dataDir, 'sandbox.json'), 'utf8'))
  await start('http://former')
  const created = await read()
  expect(created).toMatchObject({ baseUrl: 'http://former', clientId: expect.any(String) })
  await start('http://new')
  expect(await read()).toEqual({ ...created, baseUrl: 'http://new' })
  expect(await readdir(dataDir)).toEqual(['sandbox.json'])
})
