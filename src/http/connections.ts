import type { Server as HttpServer } from 'node:http'
import { BlockList, isIPv6, type Socket } from 'node:net'
import { toHost } from './rate-limit.ts'

/** Returns a check whether a connection's peer is in these addresses and networks (`127.0.0.1`, `10.0.0.0/8`). */
export function createProxyCheck(trustedProxies: string[]): (peer: string) => boolean {
  const list = new BlockList()
  for (const one of trustedProxies) {
    const [address = '', bits] = one.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  // BlockList matches an IPv4-mapped IPv6 address (::ffff:127.0.0.1) against the IPv4 entries.
  return (peer) => list.check(peer, isIPv6(peer) ? 'ipv6' : 'ipv4')
}

/**
 * Limits the connections per host, so that one host cannot take all of them. Trusted proxies are exempt: they carry
 * everybody's connections. 0 means no limit.
 */
export function limitConnectionsPerHost(
  server: HttpServer,
  { maxPerHost, trustedProxies }: { maxPerHost: number; trustedProxies: string[] },
): void {
  if (maxPerHost === 0) return
  const isProxy = createProxyCheck(trustedProxies)
  const open = new Map<string, number>()
  server.on('connection', (socket) => {
    const { remoteAddress } = socket
    if (remoteAddress === undefined || isProxy(remoteAddress)) return
    const host = toHost(remoteAddress)
    const count = (open.get(host) ?? 0) + 1
    if (count > maxPerHost) return refuse(socket)
    open.set(host, count)
    socket.once('close', () => {
      const left = (open.get(host) ?? 0) - 1
      if (left > 0) open.set(host, left)
      else open.delete(host)
    })
  })
}

/** Answers 429 without reading the request: reading those of many such connections would cost too much. */
function refuse(socket: Socket): void {
  socket.on('error', () => {})
  const head = 'HTTP/1.1 429 Too Many Requests\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
  socket.end(head, () => socket.destroy())
}
