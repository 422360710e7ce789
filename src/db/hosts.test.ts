import dns from 'node:dns'
import { once } from 'node:events'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createTestDatabase } from '../../test/support/database.ts'
import { openDatabaseProxy } from '../../test/support/database-proxy.ts'
import { findFreePort } from '../../test/support/process.ts'
import { parseServers } from '../lib/database-url.ts'
import { clientFor } from './hosts.ts'
import { connect, isDatabaseUnavailable, sql } from './sql.ts'

describe('the address of a database', () => {
  it.each([
    ['postgres://u:p@one:5432/db', 1, 'any'],
    ['postgresql://u@h/db?host=/run/postgresql', 1, 'any'],
    ['postgres://u:p%40@one:1,two:2,[::1]:3/db?sslmode=require', 3, 'read-write'],
    ['postgres://one,two/db?target_session_attrs=primary', 2, 'primary'],
    ['postgres://one/db?target_session_attrs=read-write', 1, 'read-write'],
  ])('%s names %i servers, of which one that fits %s is used', (address, count, target) => {
    const servers = parseServers(address)
    expect(servers.target).toBe(target)
    expect(servers.connectionStrings).toHaveLength(count)
  })

  it.each([
    ['mysql://one/db', 'must be a URL that begins with'],
    ['postgres://one:port/db', 'must be a URL that begins with'],
    ['postgres://one,,two/db', 'must be a URL that begins with'],
    ['postgres://one,two/db?target_session_attrs=standby', 'must have one of read-write, primary, any'],
  ])('%s is refused', (address, reason) => {
    expect(() => parseServers(address)).toThrow(reason)
  })

  it('for reads prefers a standby among several servers', () => {
    expect(parseServers('postgres://one,two/db', 'reads').target).toBe('standby')
    expect(parseServers('postgres://one/db', 'reads').target).toBe('any')
    expect(() => parseServers('postgres://one/db?target_session_attrs=primary', 'reads')).toThrow(
      'must have one of standby, any',
    )
  })
})

describe('the search for a server', () => {
  it('uses the first of several that takes writes, and another one after a failover', async () => {
    const database = await createTestDatabase()
    onTestFinished(async () => await database.drop())
    // Two ways to the same server stand for two servers.
    const proxies = [
      await openDatabaseProxy(database.connectionString),
      await openDatabaseProxy(database.connectionString),
    ]
    const [one, two] = proxies.map(({ connectionString }) => new URL(connectionString))
    if (!one || !two) throw new Error('two proxies were expected')
    const nobody = `127.0.0.1:${await findFreePort()}`
    const address = `postgresql://guiche@${nobody},${one.host},${two.host}${one.pathname}`
    const db = connect({ connectionString: address, connectionsMax: 2, waitMs: 60_000, onError: () => {} })
    onTestFinished(async () => {
      await db.pool.end()
      for (const proxy of proxies) await proxy.stop()
    })
    // The connections that only looked for the server are closed a moment later.
    const portsUsed = () => proxies.map((proxy) => proxy.count())
    expect(await db.query(sql`select 1 as one`)).toEqual([{ one: 1 }])
    await expect.poll(portsUsed).toEqual([1, 0])
    proxies[0]?.setDown(true)
    await expect.poll(async () => await db.query(sql`select 1`).catch(isDatabaseUnavailable)).toHaveLength(1)
    await expect.poll(portsUsed).toEqual([0, 1])
    proxies[1]?.setDown(true)
    await expect
      .poll(async () => await db.query(sql`select 1`).catch(String))
      .toMatch(
        /no server of DATABASE_URL fits target_session_attrs=read-write \(127\.0\.0\.1:\d+: .*ECONNREFUSED.*; .*; .*\)/,
      )
  })

  it('does not use a server that takes no writes', async () => {
    const database = await createTestDatabase()
    onTestFinished(async () => await database.drop())
    const url = new URL(database.connectionString)
    url.searchParams.set('target_session_attrs', 'read-write')
    url.searchParams.set('options', '-c default_transaction_read_only=on')
    const db = connect({ connectionString: url.href, connectionsMax: 1, waitMs: 60_000, onError: () => {} })
    onTestFinished(async () => await db.pool.end())
    await expect(db.query(sql`select 1`)).rejects.toThrow(/target_session_attrs=read-write \(.*: it takes no writes\)/)
  })
})

it('a host none of whose addresses accepts a connection is an unavailable database, with the reason of each', async () => {
  const connectionString = `postgres://guiche@database.test:${await findFreePort()}/guiche`
  const addresses = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }))
  const answer = (_host: string, _options: unknown, done: (...found: unknown[]) => void) => done(null, addresses)
  const lookup = vi.spyOn(dns, 'lookup').mockImplementation(answer as typeof dns.lookup)
  onTestFinished(() => lookup.mockRestore())
  const db = connect({ connectionString, connectionsMax: 1, onError: () => {} })
  onTestFinished(async () => await db.pool.end())
  const failure = await db.query(sql`select 1`).catch((error: unknown) => error)
  expect(isDatabaseUnavailable(failure)).toBe(true)
  expect(String(failure)).toMatch(/ECONNREFUSED 127\.0\.0\.1:\d+, connect ECONNREFUSED 127\.0\.0\.2:\d+$/)
})

it('a connection that ends before the pool listens for its errors ends no process', async () => {
  const database = await createTestDatabase()
  onTestFinished(async () => await database.drop())
  const Client = clientFor(parseServers(database.connectionString), 'DATABASE_URL')
  const client = new Client()
  // The driver emits this the moment it is connected, before the callback.
  const ended = once(client, 'connect').then(() => client.emit('error', new Error('terminated')))
  const connected = new Promise((resolve) => client.connect(resolve))
  expect(await ended).toBe(true)
  expect(await connected).toBeFalsy()
  await client.end()
})
