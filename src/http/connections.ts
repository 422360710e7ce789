import type { Server as HttpServer } from 'node:http'
import { BlockList, isIPv6, type Socket } from 'node:net'
import { toHost } from './rate-limit.ts'

/** Whether the other end of a connection is one of these addresses and networks (`127.0.0.1`, `10.0.0.0/8`). */
export function createProxyCheck(trustedProxies: string[]): (peer: string) => boolean {
  const list = new BlockList()
  for (const one of trustedProxies) {
    const [address = '', bits] = one.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  // An IPv4 address that was reached over IPv6 (::ffff:127.0.0.1) is found among those of IPv4.
  return (peer) => list.check(peer, isIPv6(peer) ? 'ipv6' : 'ipv4')
}

/**
 * Keeps one host from taking all connections that the service has. Trusted proxies are exempt: they have the connections of everybody. 0 is no
 * limit.
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

/** Without a look at what was sent: with many of them that is what there is no time for. */
function refuse(socket: Socket): void {
  socket.on('error', () => {})
  const head = 'HTTP/1.1 429 Too Many Requests\r\nRetry-After: 5\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
  socket.end(head, () => socket.destroy())
}
