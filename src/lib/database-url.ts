/** Which server of several a connection may use: for the service, which writes, and for reads alone. */
const targets = { all: ['read-write', 'primary', 'any'], reads: ['standby', 'any'] } as const
export type Target = (typeof targets)['all' | 'reads'][number]

export type Servers = { connectionStrings: string[]; target: Target }

/**
 * Reads an address as libpq does: `postgres://user@one:5432,two:5433/name?target_session_attrs=primary`.
 * @throws {Error} The caller puts the name of the setting before its message: `DATABASE_URL must be …`.
 */
export function parseServers(address: string, use: 'all' | 'reads' = 'all'): Servers {
  const [, user, hosts, rest] = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/.exec(address) ?? []
  const mistake = new Error(
    'must be a URL that begins with postgres:// or postgresql://, such as postgres://user:password@host:5432/name; several servers are host:port,host:port',
  )
  if (user === undefined || hosts === undefined || rest === undefined) throw mistake
  const urls = hosts.split(',').map((host) => `${user}${host}${rest}`)
  if (!urls.every((url) => URL.canParse(url)) || (urls.length > 1 && hosts.split(',').includes(''))) throw mistake
  const [first = ''] = urls
  const wanted = new URL(first).searchParams.get('target_session_attrs')
  const known: readonly Target[] = targets[use]
  const target = known.find((one) => one === wanted)
  if (wanted !== null && target === undefined)
    throw new Error(`has target_session_attrs=${wanted}, but must have one of ${known.join(', ')}, or none`)
  // Without target_session_attrs, one server is used as it is; of several, one that fits the use best.
  return { connectionStrings: urls, target: target ?? (urls.length > 1 ? targets[use][0] : 'any') }
}
