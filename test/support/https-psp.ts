import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Identity, issueCertificate, makeAuthority, newKey } from '../../simulator/certificates.ts'

const dayMs = 24 * 60 * 60_000

/** Certificates for one test file: two unrelated authorities, and certificates signed by each. */
export type TestCertificates = {
  authority: Identity
  server: Identity
  expiredServer: Identity
  elsewhereServer: Identity
  client: Identity
  otherClient: Identity
  foreignAuthority: Identity
  foreignClient: Identity
}

export async function makeTestCertificates(now = new Date()): Promise<TestCertificates> {
  const at = (days: number) => new Date(now.getTime() + days * dayMs)
  const usual = { validFrom: at(-10), validTo: at(100) }
  const [authority, foreignAuthority] = await Promise.all([
    makeAuthority({ commonName: 'A PSP', ...usual }),
    makeAuthority({ commonName: 'Somebody else', ...usual }),
  ])
  const hosts = ['127.0.0.1']
  // They differ in who signed them, for whom and until when. Only the renewed one has a key of its own.
  const key = await newKey()
  const server = { commonName: 'server', use: 'server' as const, hosts, key, ...usual }
  const client = { commonName: 'client', use: 'client' as const, key, ...usual }
  const [ours, expired, elsewhere, known, other, foreign] = await Promise.all([
    issueCertificate(authority, server),
    issueCertificate(authority, { ...server, validTo: at(-1) }),
    issueCertificate(authority, { ...server, hosts: ['psp.example.com'] }),
    issueCertificate(authority, client),
    issueCertificate(authority, { commonName: 'renewed', use: 'client', ...usual, validTo: at(200) }),
    issueCertificate(foreignAuthority, client),
  ])
  return {
    authority,
    server: ours,
    expiredServer: expired,
    elsewhereServer: elsewhere,
    client: known,
    otherClient: other,
    foreignAuthority,
    foreignClient: foreign,
  }
}

export type Listener = (request: IncomingMessage, answer: ServerResponse) => void

/**
 * A server on a free port. With an identity it uses TLS, and accepts only clients with a certificate of
 * `clientAuthority`.
 */
export async function listen(
  listener: Listener,
  tls?: { identity: Identity; clientAuthority: Identity },
): Promise<{ url: string; close(): Promise<void> }> {
  const server = tls
    ? createSecureServer(
        {
          cert: tls.identity.certificate,
          key: tls.identity.key,
          ca: tls.clientAuthority.certificate,
          requestCert: true,
          rejectUnauthorized: true,
        },
        listener,
      )
    : createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export async function readRequest(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

/** A folder of files that a test writes, with a function that removes it. */
export async function makeFolder(files: Record<string, string | Buffer> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'guiche-files-'))
  const path = (name: string) => join(folder, name)
  const write = async (name: string, content: string | Buffer) => await writeFile(path(name), content)
  for (const [name, content] of Object.entries(files)) await write(name, content)
  return { folder, path, write, remove: async () => await rm(folder, { recursive: true, force: true }) }
}
