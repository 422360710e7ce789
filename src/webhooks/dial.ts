import { lookup, Resolver } from 'node:dns/promises'
import { isIP, type Socket } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { callbackify } from 'node:util'
import { Agent, buildConnector } from 'undici'
import { kindOfAddress, kindOfHost, toHost } from './address.ts'

/** For one address, TLS included. A receiver gets three of its addresses tried within a delivery's 15 s. */
const connectTimeoutMs = 4_000
const addressesMax = 3

/** A connection is kept this long for the next delivery. Longer, and receivers close it just as we write to it. */
const keepAliveMs = 1_000

const headersMaxBytes = 16 * 1024

/** Why nothing was dialled: the receiver's address is not one that may be. */
export class AddressRefused extends Error {
  readonly code: 'ADDRESS_REFUSED' | 'PRIVATE_ADDRESS_REFUSED'

  /** Whether it is one that the operator may allow. */
  constructor(message: string, { isPrivate = false } = {}) {
    super(message)
    this.code = isPrivate ? 'PRIVATE_ADDRESS_REFUSED' : 'ADDRESS_REFUSED'
  }
}

export type Resolve = (host: string) => Promise<string[]>

type Options = { allowPrivate: boolean; resolve?: Resolve; tls?: ConnectionOptions }

/**
 * Connections to webhook receivers. The address that is checked is the address that is dialled: a name is resolved here,
 * once, and the socket is opened to the result, so that a name server which answers differently the second time (DNS
 * rebinding) gains nothing. TLS still proves the name. undici never shows an address literal to a `lookup` hook: hence
 * a connector. Redirects are not followed: this dispatcher has nothing that would.
 */
export function createDialler({ allowPrivate, resolve = createResolve(allowPrivate), tls = {} }: Options): Agent {
  const open = buildConnector({ ...tls, timeout: connectTimeoutMs })
  const withCallback = callbackify(dial)
  return new Agent({
    // No limit of its own: the budget is the limit, and two queues would hide one another.
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
 * Names are asked of the name server directly. `lookup` goes through Node's four threads, where four names whose
 * servers do not answer would hold up every delivery; it is kept for names of the own network, which a hosts file may know.
 */
function createResolve(allowPrivate: boolean): Resolve {
  const resolver = new Resolver({ timeout: 1_500, tries: 2 })
  return async (host) => {
    if (kindOfHost(host) === 'private') return allowPrivate ? ask(host) : []
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const found = [...(v4.status === 'fulfilled' ? v4.value : []), ...(v6.status === 'fulfilled' ? v6.value : [])]
    if (found.length > 0) return found
    if (allowPrivate) return ask(host)
    throw v4.status === 'rejected' ? v4.reason : new AddressRefused('The receiver has no address')
  }
}

async function ask(host: string): Promise<string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address)
}
