import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { request } from 'node:https'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Identity, issueCertificate, makeAuthority, newKey } from '../../simulator/certificates.ts'
import { findFreePort } from './process.ts'

export const apiHost = 'api.example.com'
export const callbacksHost = 'callbacks.example.com'

export type ProxyName = 'nginx' | 'caddy'
export type CellsProxyName = 'nginx' | 'haproxy'

/** A proxy that is not installed cannot be tested. */
export const proxyNames: ProxyName[] = ['nginx', 'caddy']
export const cellsProxyNames: CellsProxyName[] = ['nginx', 'haproxy']
export function isInstalled(name: ProxyName | CellsProxyName): boolean {
  return spawnSync(name, [name === 'caddy' ? 'version' : '-v']).status === 0
}

const documented = fileURLToPath(new URL('../../docs/proxies/', import.meta.url))
const day = 24 * 60 * 60 * 1000

export type Certificates = {
  folder: string
  /** The authority of the proxy's own certificates. */
  authority: string
  /** Client certificates: of the PSP, of another authority, and an expired one of the PSP. */
  shown: { psp: Identity; foreign: Identity; expired: Identity }
  remove(): Promise<void>
}

/** Certificates for both hosts and for a PSP, in the files that the documented configurations name. */
export async function makeCertificates(): Promise<Certificates> {
  const now = Date.now()
  // Valid for this machine's clock and for one that a test moves.
  const valid = { validFrom: new Date('2020-01-01T00:00:00Z'), validTo: new Date(now + 3650 * day) }
  const [authority, psp, other] = await Promise.all(
    ['Public', 'PSP', 'PSP'].map(async (commonName) => await makeAuthority({ commonName, ...valid })),
  )
  if (!authority || !psp || !other) throw new Error('there are three')
  // The certificates differ in who signed them, for whom and until when.
  const key = await newKey()
  const client = { commonName: 'callbacks.psp.example', use: 'client' as const, key, ...valid }
  const server = (host: string) =>
    issueCertificate(authority, { commonName: host, use: 'server', hosts: [host], key, ...valid })
  const folder = await mkdtemp(join(tmpdir(), 'guiche-proxies-'))
  // nginx' workers run as another user, and store large bodies in it.
  await chmod(folder, 0o711)
  const files = { api: await server(apiHost), callbacks: await server(callbacksHost) }
  for (const [name, { certificate, key }] of Object.entries(files)) {
    await writeFile(join(folder, `${name}.pem`), certificate)
    await writeFile(join(folder, `${name}.key`), key)
    // As HAProxy reads it.
    await writeFile(join(folder, `${name}.all.pem`), certificate + key)
  }
  await writeFile(join(folder, 'psp-ca.pem'), psp.certificate)
  return {
    folder,
    authority: authority.certificate,
    shown: {
      psp: await issueCertificate(psp, client),
      foreign: await issueCertificate(other, client),
      expired: await issueCertificate(psp, { ...client, validTo: new Date(now - day) }),
    },
    remove: async () => await rm(folder, { recursive: true, force: true }),
  }
}

export type RunningProxy = { port: number; stop(): Promise<void> }

type Options = {
  gatewayPort: number
  /** Of a second service, for nginx. */
  otherGatewayPort?: number
  /** Applies the change that the configuration's comments describe for PSPs that send no certificate. */
  mayShowNone?: boolean
}

/** Runs the documented configuration unchanged, except for ports and the folders that it reads and writes. */
export async function startProxy(name: ProxyName, { folder }: Certificates, options: Options): Promise<RunningProxy> {
  const { gatewayPort, otherGatewayPort, mayShowNone = false } = options
  const port = await findFreePort()
  const place = join(folder, `${name}-${port}`)
  await mkdir(place)
  const text = await readFile(join(documented, name === 'nginx' ? 'nginx.conf' : 'Caddyfile'), 'utf8')
  const own: [RegExp, string][] =
    name === 'nginx'
      ? [
          [/listen 443/g, `listen 127.0.0.1:${port}`],
          [/\/run|\/var\/log\/nginx/g, place],
          [/^http \{$/m, nginxFolders(place)],
        ]
      : [[/^\{$/m, await caddyPorts(port)]]
  const looser: [RegExp, string] =
    name === 'nginx'
      ? [/verify_client on/, 'verify_client optional']
      : [/mode require_and_verify/, 'mode verify_if_given']
  const changed: [RegExp, string][] = [
    [/\/etc\/guiche\/tls/g, folder],
    [/127\.0\.0\.1:3000/g, `127.0.0.1:${gatewayPort}`],
    ...(otherGatewayPort === undefined
      ? []
      : [[/^( *)server (127\.0\.0\.1):\d+(.*)$/m, `$&\n$1server $2:${otherGatewayPort}$3`] satisfies [RegExp, string]]),
    ...own,
    ...(mayShowNone ? [looser] : []),
  ]
  const config = change(text, changed)
  const file = join(place, name === 'nginx' ? 'nginx.conf' : 'Caddyfile')
  await writeFile(file, config)
  const child =
    name === 'nginx'
      ? spawn('nginx', ['-c', file, '-g', 'daemon off;'], { stdio: ['ignore', 'pipe', 'pipe'] })
      : spawn('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], {
          stdio: ['ignore', 'pipe', 'pipe'],
          env: { PATH: process.env.PATH, HOME: place, XDG_DATA_HOME: place, XDG_CONFIG_HOME: place },
        })
  return await untilRunning(child, port)
}

/** The same for the configurations in front of two cells. */
export async function startCellsProxy(
  name: CellsProxyName,
  { folder }: Certificates,
  ports: { a: number; b: number },
): Promise<RunningProxy> {
  const port = await findFreePort()
  const place = join(folder, `cells-${name}-${port}`)
  await mkdir(place)
  const source = name === 'nginx' ? 'cells-nginx.conf' : 'cells-haproxy.cfg'
  const own: [RegExp, string][] =
    name === 'nginx'
      ? [
          [/listen 443/g, `listen 127.0.0.1:${port}`],
          [/\/run|\/var\/log\/nginx/g, place],
          [/^http \{$/m, nginxFolders(place)],
        ]
      : [[/bind :443/, `bind 127.0.0.1:${port}`]]
  const config = change(await readFile(join(documented, source), 'utf8'), [
    [/\/etc\/guiche\/tls/g, folder],
    [/127\.0\.0\.1:3001/g, `127.0.0.1:${ports.a}`],
    [/127\.0\.0\.1:3002/g, `127.0.0.1:${ports.b}`],
    ...own,
  ])
  const file = join(place, source)
  await writeFile(file, config)
  const args = name === 'nginx' ? ['-c', file, '-g', 'daemon off;'] : ['-db', '-f', file]
  const child = spawn(name, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  return await untilRunning(child, port)
}

function change(text: string, changes: [RegExp, string][]): string {
  return changes.reduce((before, [from, to]) => {
    const after = before.replace(from, to)
    if (after === before) throw new Error(`the documented configuration has no ${from}`)
    return after
  }, text)
}

async function caddyPorts(port: number): Promise<string> {
  return `{\n\tadmin off\n\tdefault_bind 127.0.0.1\n\thttps_port ${port}\n\thttp_port ${await findFreePort()}`
}

function nginxFolders(place: string): string {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return ['http {', ...kinds.map((kind) => `    ${kind}_temp_path ${place}/${kind};`)].join('\n')
}

/** Waits until a proxy that was just started accepts connections. */
async function untilRunning(child: ChildProcess, port: number): Promise<RunningProxy> {
  const said: string[] = []
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data: Buffer) => said.push(data.toString()))
  const ended = new Promise((resolve) => child.once('exit', resolve))
  for (;;) {
    const end = child.exitCode ?? child.signalCode
    if (end !== null) throw new Error(`The proxy ended with ${end}: ${said.join('')}`)
    const exists = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true))
      socket.once('error', () => resolve(false)).once('connect', () => socket.destroy())
    })
    if (exists) break
    await sleep(20)
  }
  return {
    port,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

export type Requested = {
  host?: string
  /** A host for the handshake that differs from the request's. */
  servername?: string
  method?: string
  path: string
  headers?: Record<string, string>
  body?: string
  /** The client certificate. */
  show?: Identity
  /** The local address of the connection. */
  localAddress?: string
}

/** Sends a request over TLS. Null if the proxy ended the handshake or the connection. */
export async function requestThroughProxy(
  { port }: Pick<RunningProxy, 'port'>,
  { authority }: Certificates,
  { host = apiHost, servername = host, show, body, ...requested }: Requested,
): Promise<{ status: number; text: string; headers: IncomingHttpHeaders } | null> {
  return await new Promise((resolve) => {
    const sent = request(
      {
        ...requested,
        host: '127.0.0.1',
        port,
        servername,
        method: requested.method ?? (body === undefined ? 'GET' : 'POST'),
        headers: { host, ...(body !== undefined && { 'content-type': 'application/json' }), ...requested.headers },
        ca: authority,
        ...(show && { cert: show.certificate, key: show.key }),
        agent: false,
      },
      (answer) => {
        const chunks: Buffer[] = []
        answer.on('data', (chunk: Buffer) => chunks.push(chunk))
        answer.on('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            text: Buffer.concat(chunks).toString(),
            headers: answer.headers,
          }),
        )
        answer.on('close', () => resolve(null))
      },
    )
    sent.once('error', () => resolve(null))
    sent.end(body)
  })
}
