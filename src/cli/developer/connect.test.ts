import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it, onTestFinished, vi } from 'vitest'
import { findConnection, sandboxPath } from './connect.ts'

afterEach(() => vi.unstubAllEnvs())

it('treats variables without content as not set', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'connect-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const sandbox = { baseUrl: 'http://127.0.0.1:3000', clientId: 'a', clientSecret: 'b', webhookSecret: 'whsec_c' }
  writeFileSync(join(folder, 'sandbox.json'), JSON.stringify(sandbox))
  const names = ['GUICHE_URL', 'GUICHE_CLIENT_ID', 'GUICHE_CLIENT_SECRET', 'GUICHE_WEBHOOK_SECRET']
  vi.stubEnv('DATA_DIR', folder)
  for (const empty of ['', ' ']) {
    for (const name of names) vi.stubEnv(name, empty)
    expect(await findConnection({})).toEqual(sandbox)
    const given = { url: 'http://127.0.0.1:4000/', clientId: 'd', clientSecret: 'e' }
    expect(await findConnection(given)).toMatchObject({ baseUrl: 'http://127.0.0.1:4000', webhookSecret: null })
  }
  vi.stubEnv('DATA_DIR', '')
  expect(sandboxPath()).toBe('data/sandbox.json')
})
