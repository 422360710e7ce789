import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { receiverAccount, receiverKey } from '../../simulator/receiver-account.ts'
import { sql } from '../../src/db/sql.ts'
import { type CommandLine, openCommandLine } from '../support/command-line.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
let line: CommandLine
let file: string
beforeAll(async () => {
  service = await startTestService()
  file = join(service.dataDir, 'acquirers.json')
  const environment = { ACQUIRERS_FILE: file, BASE_URL: service.baseUrl }
  line = await openCommandLine({ connectionString: service.connectionString, environment })
})
afterAll(async () => {
  await line.stop()
  await service.stop()
})

/** Writes a settings file in which the service's account at its simulated network is like an account at a PSP. */
async function writeSettings(callbacks: object): Promise<void> {
  const acquirer = {
    name: 'simulator',
    dialect: 'generic',
    environment: 'sandbox',
    baseUrl: 'http://127.0.0.1:1',
    clientId: 'a',
    clientSecret: 'b',
    chave: receiverKey,
    receiver: receiverAccount,
    callbacks,
  }
  await writeFile(file, JSON.stringify({ acquirers: [acquirer] }))
}

const request = async () => await line.runJson<{ url: string }>(['acquirer', 'callback-url', 'simulator'])

it('prints exactly the address at which the service accepts callbacks', async () => {
  await writeSettings({})
  const [row] = await service.db.query<{ url: string }>(sql`select url from simulator.webhooks`)
  const { url, ...others } = await request()
  expect(url).toBe(row?.url)
  expect(others).toMatchObject({ chave: receiverKey, isRegisteredAtStart: true, clientCertificate: null })
  expect((await service.call(new URL(url).pathname, { body: {}, token: null })).status).toBe(200)
})

it('uses the address that the service last had, and recognizes the built-in simulated network', async () => {
  const plain = await openCommandLine({ connectionString: service.connectionString })
  const [row] = await service.db.query<{ url: string }>(sql`select url from simulator.webhooks`)
  const { url } = await plain.runJson<{ url: string }>(['acquirer', 'callback-url', 'simulator'])
  expect(url).toBe(row?.url)
  const invitation = ['user', 'invite', '--email', 'ana@example.com', '--role', 'support']
  expect((await plain.runJson<{ url: string }>(invitation)).url).toContain(`${service.baseUrl}/dashboard/welcome/`)
  await plain.stop()
})

it('prints another one for another version and host, and what a call must present', async () => {
  await writeSettings({})
  const { url: first } = await request()
  await writeSettings({
    register: false,
    version: 2,
    baseUrl: 'https://callbacks.example.com',
    clientCertificate: { subject: ['CN=psp.example'] },
  })
  const { url } = await request()
  expect(new URL(url).origin).toBe('https://callbacks.example.com')
  expect(new URL(url).pathname).not.toBe(new URL(first).pathname)
  expect((await service.call(new URL(url).pathname, { body: {}, token: null })).status).toBe(404)
  const text = await line.read(['acquirer', 'callback-url', 'simulator'])
  expect(text).toContain('registered   by hand')
  expect(text).toContain('CN=psp.example, passed on as client-cert')
  expect(text).not.toContain('No PSP can use')
})

it('says what to do about a wrong name or setting', async () => {
  await writeSettings({})
  await line.expectFailure(['acquirer', 'callback-url', 'other'], /There is no acquirer other\. .* defines simulator\./)
  await writeSettings({ clientCertificate: { sha256: ['abc'] }, version: 0 })
  await line.expectFailure(
    ['acquirer', 'callback-url', 'simulator'],
    /callbacks\.clientCertificate\.sha256\[0\] must be a SHA-256 fingerprint[\s\S]*callbacks\.version must be a whole number/,
  )
})
