import { lookup, Resolver } from 'node:dns/promises'
import { isIP, type Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { callbackify } from 'node:util'
import { Agent, buildConnector } from 'undici'
import { kindOfAddress, kindOfHost, toHost } from './address.ts'

/** Per address, including TLS. Up to three addresses of a receiver are tried within the 15 s of a delivery. */
const connectTimeoutMs = 4_000
const addressesMax = 3

/** How long a connection is kept for the next delivery. Any longer, and receivers close it just as we write to it. */
const keepAliveMs = 1_000

const headersMaxBytes = 16 * 1024

/** Nothing was dialled, because the receiver has no address, or none that is allowed. */
export class AddressRefused extends Error {
  readonly code: 'ADDRESS_REFUSED' | 'PRIVATE_ADDRESS_REFUSED'

  /** `isPrivate`: the operator may allow this address. */
  constructor(message: string, { isPrivate = false } = {}) {
    super(message)
    this.code = isPrivate ? 'PRIVATE_ADDRESS_REFUSED' : 'ADDRESS_REFUSED'
  }
}

export type Resolve = (host: string) => Promise<string[]>

type Options = { allowPrivate: boolean; resolve?: Resolve; tls?: ConnectionOptions }

/**
 * Connections to webhook receivers. The address that is checked is the address that is dialled: the name is resolved
 * once, here, and the socket is opened to the result. A name server that answers differently the second time (DNS
 * rebinding) gains nothing. TLS still verifies the name. undici never passes an address literal to a `lookup` hook:
 * hence a connector. Redirects are not followed: this dispatcher has no interceptor for them.
 */
export function createDialler({ allowPrivate, resolve = createResolve(allowPrivate), tls = {} }: Options): Agent {
  const open = buildConnector({ ...tls, timeout: connectTimeoutMs })
  const withCallback = callbackify(dial)
  return new Agent({
    // No limit here: budget.ts limits the deliveries at once, and waiting ones must be in its queue alone.
    connections: null,
    pipelining: 1,
    keepAliveTimeout: keepAliveMs,
    keepAliveMaxTimeout: keepAliveMs,
    maxHeaderSize: headersMaxBytes,
    connect: (options, callback) =>
      withCallback(options, (error, socket) => (error ? callback(error, null) : callback(null, socket))),
  })

  async function dial(options: buildConnector.Options): Promise<Socket> {
    const host = toHost(options.hostname)
    const found = isIP(host) ? [host] : await resolve(host)
    const allowed = found.filter((address) => mayDial(address, options.protocol)).slice(0, addressesMax)
    const isPrivate =
      !allowPrivate && (kindOfHost(host) === 'private' || found.some((one) => kindOfAddress(one) === 'private'))
    let failure: unknown = new AddressRefused('The receiver has no address that may be called', { isPrivate })
    for (const address of allowed) {
      try {
        return await connectTo({ ...options, hostname: address, ...(isIP(host) ? {} : { servername: host }) })
      } catch (error) {
        failure = error
      }
    }
    throw failure
  }

  function mayDial(address: string, protocol: string): boolean {
    const kind = kindOfAddress(address)
    if (kind === 'public') return protocol === 'https:'
    return kind === 'private' && allowPrivate
  }

  function connectTo(options: buildConnector.Options): Promise<Socket> {
    return new Promise((done, failed) => {
      open(options, (error, socket) => (error ? failed(error) : done(socket)))
    })
  }
}

/**
 * Queries the name server directly. `lookup` uses Node's four threads, so four names whose servers do not respond
 * would block every delivery. It is kept for names of the operator's own network, which a hosts file may define.
 */
export function createResolve(
  allowPrivate: boolean,
  resolver: Pick<Resolver, 'resolve4' | 'resolve6'> = new Resolver({ timeout: 1_500, tries: 2 }),
): Resolve {
  return async (host) => {
    if (kindOfHost(host) === 'private') return allowPrivate ? lookUp(host) : []
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (found.length > 0) return found
    if (allowPrivate) return lookUp(host)
    const causes: NodeJS.ErrnoException[] = answers.flatMap((answer) => ('reason' in answer ? [answer.reason] : []))
    // A receiver with IPv6 alone has no IPv4 address: what failed is the other query.
    throw (
      causes.find(({ code }) => code !== 'ENODATA') ?? causes[0] ?? new AddressRefused('The receiver has no address')
    )
  }
}

async function lookUp(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address)
}
