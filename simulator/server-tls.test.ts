import { cp, mkdtemp, readFile, rm, stat, symlink } from 'node:fs/promises'
import { Agent, get } from 'node:https'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEmptyDatabase, type TestDatabase } from '../test/support/database.ts'
import { type TestSimulator, testSimulator } from '../test/support/simulator.ts'
import { issueCertificate, makeAuthority } from './certificates.ts'
import { startSimulatorServer } from './server.ts'
import { openTlsFolder, type TlsFolder } from './tls-folder.ts'

const day = 86_400_000
const valid = { validFrom: new Date(Date.now() - day), validTo: new Date(Date.now() + day) }
const hosts = ['localhost', '127.0.0.1']

let folder: string
let files: TlsFolder
let database: TestDatabase
let simulator: TestSimulator
let server: Awaited<ReturnType<typeof startSimulatorServer>>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'guiche-tls-'))
  files = await openTlsFolder(join(folder, 'tls'), { hosts, now: new Date() })
  database = await createEmptyDatabase()
  simulator = await testSimulator(database.db.pool)
  server = await startSimulatorServer({ simulator, host: '127.0.0.1', port: 0, tls: files })
})
afterAll(async () => {
  await server.close()
  await simulator.close()
  await database.drop()
  await rm(folder, { recursive: true })
})

describe('the server', () => {
  it('accepts its client, with PEM and with PFX', async () => {
    const pem = { cert: await readFile(files.paths.certFile), key: await readFile(files.paths.keyFile) }
    const pfx = { pfx: await readFile(files.paths.pfxFile), passphrase: await readPassphrase() }
    // Without a token, the PSP answers 401: so the requests have passed the check of the certificate.
    expect(await send('/cob/x', pem)).toMatchObject({ status: 401, body: expect.stringContaining('/oauth/token') })
    expect(await send('/cob/x', pfx)).toMatchObject({ status: 401, body: expect.stringContaining('/oauth/token') })
  })

  it('refuses every request without a certificate, with another authority’s, or with an expired one', async () => {
    const foreign = await makeAuthority({ ...valid, commonName: 'Guiche simulator CA' })
    const outsider = await issueCertificate(foreign, { ...valid, commonName: 'guiche', use: 'client' })
    const past = { validFrom: new Date(Date.now() - 2 * day), validTo: new Date(Date.now() - day) }
    const expired = await issueCertificate(files.authority, { ...past, commonName: 'guiche', use: 'client' })
    for (const path of ['/oauth/token', '/cob/x', '/sandbox/payment', '/']) {
      expect(await send(path, {})).toMatchObject({ status: 400, body: expect.stringContaining('No required SSL') })
      for (const { certificate, key } of [outsider, expired]) {
        const refused = await send(path, { cert: certificate, key })
        expect(refused).toMatchObject({ status: 400, body: expect.stringContaining('The SSL certificate error') })
      }
    }
  })

  it('refuses a resumed session that began without a certificate', async () => {
    const agent = new Agent({ ca: files.authority.certificate, maxCachedSessions: 10 })
    const answers = [await send('/cob/x', { agent }), await send('/cob/x', { agent }), await send('/cob/x', { agent })]
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400])
    expect(answers.some(({ isResumed }) => isResumed)).toBe(true)
  })

  it('shows the locations of charges to anyone', async () => {
    expect(await send('/qr/jwks.json', {})).toMatchObject({ status: 200, body: expect.stringContaining('"keys"') })
    expect(await send('/qr/v2/x', {})).toMatchObject({ status: 404 })
  })
})

describe('the folder', () => {
  it('is created once, readable only by its owner', async () => {
    const again = await openTlsFolder(join(folder, 'tls'), { hosts, now: new Date() })
    expect(again).toEqual(files)
    for (const path of [files.paths.keyFile, files.paths.pfxFile, files.paths.passphraseFile])
      expect((await stat(path)).mode & 0o077).toBe(0)
  })

  it('renews certificates that expire soon or lack a host, under the same authority', async () => {
    const other = join(folder, 'other')
    const first = await openTlsFolder(other, { hosts, now: new Date() })
    const wider = await openTlsFolder(other, { hosts: [...hosts, 'psp.test'], now: new Date() })
    expect(wider).toMatchObject({ authority: first.authority, client: first.client })
    expect(wider.server).not.toEqual(first.server)
    const later = await openTlsFolder(other, { hosts, now: new Date(Date.now() + 720 * day) })
    expect(later.authority).toEqual(first.authority)
    expect([later.server.key, later.client.key]).not.toContain(wider.server.key)
    expect(later.client).not.toEqual(first.client)
  })

  it('completes a renewal that was interrupted', async () => {
    const interrupted = join(folder, 'interrupted')
    await cp(join(folder, 'tls'), interrupted, { recursive: true })
    const path = (name: 'keyFile' | 'pfxFile' | 'passphraseFile') => join(interrupted, basename(files.paths[name]))
    const later = { hosts, now: new Date(Date.now() + 720 * day) }
    await rm(path('passphraseFile'))
    await symlink(join(folder, 'none', 'x'), path('passphraseFile'))
    await expect(openTlsFolder(interrupted, later)).rejects.toThrow('ENOENT')
    await rm(path('passphraseFile'))
    await cp(files.paths.passphraseFile, path('passphraseFile'))
    const { client } = await openTlsFolder(interrupted, later)
    expect(client).not.toEqual(files.client)
    expect(await readFile(path('pfxFile'))).not.toEqual(await readFile(files.paths.pfxFile))
    await cp(files.paths.keyFile, path('keyFile'))
    expect((await openTlsFolder(interrupted, later)).client.certificate).not.toBe(client.certificate)
  })
})

async function readPassphrase(): Promise<string> {
  return (await readFile(files.paths.passphraseFile, 'utf8')).trim()
}

async function send(path: string, identity: object): Promise<{ status: number; body: string; isResumed: boolean }> {
  return await new Promise((resolve, reject) => {
    const options = { ca: files.authority.certificate, agent: false as const, ...identity }
    const request = get(server.url + path, options, (answer) => {
      const isResumed = 'isSessionReused' in answer.socket && Object(answer.socket).isSessionReused() === true
      let body = ''
      answer.on('data', (part) => {
        body += String(part)
      })
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body, isResumed }))
    })
    request.on('error', reject)
  })
}
