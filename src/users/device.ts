import type { FastifyReply, FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import type { Db } from '../db/sql.ts'
import { toHost } from '../http/rate-limit.ts'
import { keyedHash, newSecret, type SecretKey } from '../lib/secrets.ts'
import { appendCookie, isSecure, readCookieNamed } from './cookies.ts'
import { deleteOldDevices, findKnownHashes, upsertDevice } from './store.ts'

/** How long a browser or a network counts as the person's own after the last sign-in from there. */
const knownMs = 90 * 24 * 60 * 60_000

/**
 * Where a request comes from: its address, and a cookie that identifies the browser. Neither identifies the person.
 */
export type Device = { host: string; cookie: string | null; hashes: Buffer[] }

type Deps = { key: SecretKey; baseUrl: string }

export function readDevice({ key, baseUrl }: Deps, request: FastifyRequest): Device {
  const host = toHost(request.ip)
  const cookie = readCookieNamed(request, cookieName(baseUrl))
  const hashes = [keyedHash(key, 'device', `address ${host}`)]
  if (cookie !== null) hashes.push(keyedHash(key, 'device', `cookie ${cookie}`))
  return { host, cookie, hashes }
}

/**
 * The name under which failures from here are counted, if the person has signed in from here before: the browser's
 * cookie or else the address, whichever is known. Null if neither is, as for an invented cookie.
 */
export async function findKnownDevice(
  db: Db,
  email: string,
  { hashes, host, cookie }: Device,
  now: Date,
): Promise<string | null> {
  const found = await findKnownHashes(db, { email, hashes, since: new Date(now.getTime() - knownMs) })
  const isKnown = (hash: Buffer | undefined) => hash !== undefined && found.some((known) => known.equals(hash))
  if (cookie !== null && isKnown(hashes[1])) return `cookie ${cookie}`
  return isKnown(hashes[0]) ? `address ${host}` : null
}

/** Remembers that the person signed in from here. Sets the browser's cookie, or prolongs the one that it has. */
export async function rememberDevice(
  db: Db,
  { key, baseUrl }: Deps,
  { userId, device, now }: { userId: string; device: Device; now: Date },
  reply: FastifyReply,
): Promise<void> {
  const cookie = device.cookie ?? newSecret()
  const hashes = new Set([...device.hashes, keyedHash(key, 'device', `cookie ${cookie}`)])
  await db.transaction(async (tx) => {
    // Deletes first: two sign-ins that delete the same rows then hold no other rows, so they cannot deadlock.
    await deleteOldDevices(tx, new Date(now.getTime() - knownMs))
    for (const hash of hashes) await upsertDevice(tx, { userId, hash, now })
  })
  appendCookie(reply, baseUrl, { name: cookieName(baseUrl), value: cookie, maxAgeSeconds: knownMs / 1000 })
}

function cookieName(baseUrl: string): string {
  return isSecure(baseUrl) ? '__Host-guiche-device' : 'guiche-device'
}

/** How a list of sessions describes a browser: enough for its owner to recognize it. */
export function describeDevice(request: Pick<FastifyRequest, 'headers' | 'ip'>): {
  device: string | null
  network: string | null
} {
  const agent = request.headers['user-agent']
  return { device: agent === undefined ? null : describeAgent(agent), network: describeNetwork(request.ip) }
}

const browsers: [name: string, pattern: RegExp][] = [
  ['Edge', /Edg(A|iOS)?\//],
  ['Opera', /OPR\//],
  ['Samsung Internet', /SamsungBrowser\//],
  ['Firefox', /Firefox\/|FxiOS\//],
  ['Chrome', /Chrome\/|CriOS\//],
  ['Safari', /Safari\//],
]
const systems: [name: string, pattern: RegExp][] = [
  ['iPhone', /iPhone/],
  ['iPad', /iPad/],
  ['Android', /Android/],
  ['Windows', /Windows/],
  ['macOS', /Mac OS X|Macintosh/],
  ['Linux', /Linux/],
]

function describeAgent(agent: string): string | null {
  const find = (table: [string, RegExp][]) => table.find(([, pattern]) => pattern.test(agent))?.[0]
  return [find(browsers), find(systems)].filter((part) => part !== undefined).join(' · ') || null
}

function describeNetwork(address: string): string | null {
  if (!ipaddr.isValid(address)) return null
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv6)
    return `${parsed.parts
      .slice(0, 3)
      .map((part) => part.toString(16))
      .join(':')}::/48`
  return `${parsed.octets.slice(0, 3).join('.')}.0/24`
}
