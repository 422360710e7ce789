import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

const urlLengthMax = 2048

/**
 * `public`: any merchant may use it. `private`: only with `WEBHOOK_ALLOW_PRIVATE`. `forbidden`: never, because no
 * merchant's receiver can be there: cloud metadata, multicast, documentation, IPv6 tunnels such as 6to4 and Teredo.
 */
export type Kind = 'public' | 'private' | 'forbidden'

/** Returns why a webhook URL is rejected, as a phrase that continues "webhookUrl …", or null when it is accepted. */
export function checkWebhookUrl(text: string, { allowPrivate }: { allowPrivate: boolean }): string | null {
  if (text.length > urlLengthMax) return `must be at most ${urlLengthMax} characters`
  // The URL parser silently drops tabs and line ends and turns a backslash into a slash.
  if (/[\s\\\p{Cc}]/u.test(text)) return 'must be a valid URL'
  const authority = /^https?:\/\/([^/?#]+)/i.exec(text)?.[1]
  if (authority === undefined)
    return `must be a URL that begins with https://${allowPrivate ? ', or with http:// for a private host' : ''}`
  if (text.includes('#')) return 'must have no fragment'
  if (authority.includes('@')) return 'must have no user name or password in it'
  const url = parseUrl(text)
  if (!url || url.port === '0') return 'must be a valid URL'
  const host = toHost(url.hostname)
  const kind = kindOfHost(host)
  if (!allowPrivate && isIP(host)) return 'must name a host, with a top-level domain, and not an address'
  if (!allowPrivate && !isPublicPort(url.port)) return 'must use port 443, or one from 1024 on'
  if (kind === 'forbidden') return 'must name a host that can be called'
  if (kind === 'private' && !allowPrivate) return 'must name a public host, with a top-level domain'
  if (url.protocol === 'http:' && kind === 'public') return 'must use https'
  return null
}

/**
 * Ports below 1024 belong to mail, shells and file shares, and attackers could make Guichê call those services. Of
 * them only 443 is allowed: no merchant's receiver uses another.
 */
function isPublicPort(port: string): boolean {
  return port === '' || port === '443' || Number(port) >= 1024
}

/** A URL's hostname without the brackets of IPv6 and without a final dot. */
export function toHost(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
}

/** Names that by convention never leave a machine or a network. */
const privateSuffixes = new Set(['localhost', 'local', 'internal', 'test', 'lan', 'home.arpa'])

/**
 * Classifies a host by its name alone. A public name may still resolve to a private address: the dialler checks that.
 */
export function kindOfHost(host: string): Kind {
  if (isIP(host)) return kindOfAddress(host)
  const labels = host.split('.')
  const isName = host.length <= 253 && labels.every((label) => /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i.test(label))
  if (!isName) return 'forbidden'
  const topLevel = labels.at(-1) ?? ''
  if (labels.length === 1 || privateSuffixes.has(topLevel) || privateSuffixes.has(labels.slice(-2).join('.'))) {
    return 'private'
  }
  return /^(?:[a-z]{2,63}|xn--[a-z0-9-]+)$/i.test(topLevel) ? 'public' : 'forbidden'
}

/** Classifies an address by our own tables, because ipaddr.js calls `::7f00:1` and `168.63.129.16` ordinary unicast. */
export function kindOfAddress(text: string): Kind {
  // isIP is strict; ipaddr.js alone also accepts "0177.1". An address with a zone is link-local.
  if (!isIP(text) || text.includes('%')) return 'forbidden'
  if (isIP(text) === 4) return kindOfIPv4(ipaddr.IPv4.parse(text))
  // Normalise first: ipaddr.js takes `::127.0.0.1` for the mapped `::ffff:127.0.0.1`, but a socket does not.
  return kindOfIPv6(ipaddr.IPv6.parse(toHost(new URL(`http://[${text}]`).hostname)))
}

// IANA's IPv4 special-purpose registry, plus the addresses that cloud providers use for metadata.
const metadataV4 = cidrsV4('169.254.0.0/16', '168.63.129.16/32', '100.100.100.200/32', '192.0.0.0/24')
const privateV4 = cidrsV4('10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16')
const forbiddenV4 = cidrsV4(
  '0.0.0.0/8',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
)

function kindOfIPv4(address: ipaddr.IPv4): Kind {
  const isIn = (range: [ipaddr.IPv4, number]) => address.match(range)
  if (metadataV4.some(isIn) || forbiddenV4.some(isIn)) return 'forbidden'
  return privateV4.some(isIn) ? 'private' : 'public'
}

// IANA allocates only 2000::/3 of IPv6, so this is an allow list with exceptions.
const publicV6 = cidrsV6('2000::/3')
const forbiddenV6 = cidrsV6(
  // IETF protocols, including Teredo and ORCHID; two documentation ranges; 6to4; AS112; the former 6bone.
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '2620:4f:8000::/48',
  '3ffe::/16',
  '3fff::/20',
  // The metadata services of AWS and of Google.
  'fd00:ec2::/32',
  'fd20:ce::/32',
)
const privateV6 = cidrsV6('::1/128', 'fc00::/7')
// NAT64 with its well-known prefix: a machine with only IPv6 reaches an IPv4 receiver this way. ::ffff:0:0/96 is IPv4
// itself.
const wrappingV6 = cidrsV6('64:ff9b::/96', '::ffff:0:0/96')

function kindOfIPv6(address: ipaddr.IPv6): Kind {
  const isIn = (range: [ipaddr.IPv6, number]) => address.match(range)
  if (wrappingV6.some(isIn)) return kindOfIPv4(new ipaddr.IPv4(address.toByteArray().slice(12)))
  if (forbiddenV6.some(isIn)) return 'forbidden'
  if (privateV6.some(isIn)) return 'private'
  return publicV6.some(isIn) ? 'public' : 'forbidden'
}

function cidrsV4(...ranges: string[]): [ipaddr.IPv4, number][] {
  return ranges.map((range) => ipaddr.IPv4.parseCIDR(range))
}

function cidrsV6(...ranges: string[]): [ipaddr.IPv6, number][] {
  return ranges.map((range) => ipaddr.IPv6.parseCIDR(range))
}

function parseUrl(text: string): URL | null {
  return URL.canParse(text) ? new URL(text) : null
}
