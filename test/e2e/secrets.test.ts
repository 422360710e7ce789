import { randomUUID } from 'node:crypto'
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { revokeClient, rotateClientSecret } from '../../src/auth/clients.ts'
import { createKeyRing } from '../../src/auth/keys.ts'
import { loadSecretKey } from '../../src/auth/secret-key.ts'
import { sealedColumns } from '../../src/auth/store.ts'
import { callbackPath } from '../../src/callbacks/path.ts'
import type { Db } from '../../src/db/sql.ts'
import { compare } from '../../src/lib/compare.ts'
import { newSecretKey, parseSecretKey } from '../../src/lib/secrets.ts'
import { paymentToken } from '../../src/pay/token.ts'
import { findSigningSecrets } from '../../src/webhooks/secrets.ts'
import { createEmptyDatabase, createTestDatabase } from '../support/database.ts'
import { keyRingOf } from '../support/forge.ts'
import { fetchToken, smallestTransaction, startTestService, type TestService } from '../support/service.ts'
import { registerShop, requestToken, type Shop } from '../support/token.ts'

const hourMs = 60 * 60 * 1000
const dayMs = 24 * hourMs
/** Longer than a process waits before it reloads the signing keys. */
const reloadMs = 550

let service: TestService

beforeAll(async () => {
  service = await startTestService()
})
afterAll(async () => await service.stop())

async function depsOf({ db, clock }: Pick<TestService, 'db' | 'clock'>) {
  return { db, clock, key: (await loadSecretKey(db, null)).key }
}

describe("a client's secret", () => {
  const statusWith = async ({ clientId }: Shop, secret: string) =>
    (await requestToken(service, { form: { client_id: clientId, client_secret: secret } })).status

  async function rotate({ clientId }: Shop, overlapMs?: number): Promise<string> {
    const rotated = await rotateClientSecret(await depsOf(service), {
      clientId,
      by: { actor: 'cli:test' },
      ...(overlapMs !== undefined && { overlapMs }),
    })
    return rotated?.clientSecret ?? ''
  }

  it('is valid together with the former one after a rotation, until exactly a day later', async () => {
    const shop = await registerShop(service)
    const second = await rotate(shop)
    expect(await statusWith(shop, shop.clientSecret)).toBe(200)
    expect(await statusWith(shop, second)).toBe(200)
    service.clock.advance(dayMs - 1)
    expect(await statusWith(shop, shop.clientSecret)).toBe(200)
    service.clock.advance(1)
    expect(await statusWith(shop, shop.clientSecret)).toBe(401)
    expect(await statusWith(shop, second)).toBe(200)
  })

  it('stays valid when the rotation is repeated, because nobody has the secret whose answer was lost', async () => {
    const shop = await registerShop(service)
    const deps = await depsOf(service)
    const id = randomUUID()
    const again = async () => await rotateClientSecret(deps, { clientId: shop.clientId, id, by: { actor: 'cli:test' } })
    const secrets = [(await again())?.clientSecret ?? '']
    service.clock.advance(1_000)
    const former = (await again())?.formerExpiresAt.getTime()
    service.clock.advance(1_000)
    const third = await again()
    secrets.push(third?.clientSecret ?? '')
    expect(third?.formerExpiresAt.getTime()).toBe(former)
    expect(await statusWith(shop, shop.clientSecret)).toBe(200)
    expect(await Promise.all(secrets.map(async (secret) => await statusWith(shop, secret)))).toEqual([401, 200])
    service.clock.advance(1_000)
    await rotate(shop)
    // Not a repeat any more: somebody has rotated since.
    await expect(again()).rejects.toMatchObject({ code: 'change_not_possible' })
  })

  it('is one of two at most: a rotation within the overlap ends the oldest immediately', async () => {
    const shop = await registerShop(service)
    service.clock.advance(1)
    const second = await rotate(shop)
    service.clock.advance(hourMs)
    const third = await rotate(shop)
    const statuses = async () =>
      await Promise.all([shop.clientSecret, second, third].map((secret) => statusWith(shop, secret)))
    expect(await statuses()).toEqual([401, 200, 200])
    service.clock.advance(dayMs)
    expect(await statuses()).toEqual([401, 401, 200])
  })

  it('can be ended immediately', async () => {
    const shop = await registerShop(service)
    const second = await rotate(shop, 0)
    expect(await statusWith(shop, shop.clientSecret)).toBe(401)
    expect(await statusWith(shop, second)).toBe(200)
  })

  it('is one of two at most after many concurrent rotations', async () => {
    const shop = await registerShop(service)
    const made = await Promise.all(Array.from({ length: 4 }, () => rotate(shop)))
    const statuses = await Promise.all([shop.clientSecret, ...made].map((secret) => statusWith(shop, secret)))
    expect(statuses.filter((status) => status === 200)).toHaveLength(2)
  })

  it('ends with all others on a revocation, and a later rotation revives none of them', async () => {
    const shop = await registerShop(service)
    const second = await rotate(shop)
    const deps = await depsOf(service)
    expect(await revokeClient(deps, { by: { actor: 'cli:test' }, clientId: shop.clientId, tokensOnly: false })).toBe(
      true,
    )
    expect(await statusWith(shop, shop.clientSecret)).toBe(401)
    expect(await statusWith(shop, second)).toBe(401)
    const third = await rotate(shop)
    expect(await statusWith(shop, second)).toBe(401)
    expect(await statusWith(shop, third)).toBe(200)
    const token = await fetchToken(service.baseUrl, { ...shop, clientSecret: third })
    expect((await service.call('/transaction', { token })).status).toBe(200)
  })

  it('is not created for an unknown client', async () => {
    const deps = await depsOf(service)
    expect(await rotateClientSecret(deps, { by: { actor: 'cli:test' }, clientId: 'nobody' })).toBeNull()
    expect(await revokeClient(deps, { by: { actor: 'cli:test' }, clientId: 'nobody', tokensOnly: false })).toBe(false)
  })

  it('is not in the database in plain text, nor is a webhook secret or a signing key', async () => {
    const shop = await registerShop(service)
    const { rows } = await service.db.pool.query(`
      select (select json_agg(t)::text from client_secrets t) || (select json_agg(t)::text from webhook_secrets t)
        || (select json_agg(t)::text from clients t) || (select json_agg(t)::text from signing_keys t) as everything`)
    const everything = String(rows[0]?.everything)
    const bytes = (text: string) => Buffer.from(text).toString('hex')
    for (const secret of [shop.clientSecret, shop.webhookSecret, 'PRIVATE', '"d":'])
      for (const form of [secret, bytes(secret)]) expect(everything).not.toContain(form)
  })
})

describe('the signing key of tokens', () => {
  it('is replaced with an overlap: signed tokens stay valid, new ones use the new key, and both are published', async () => {
    const old = await start()
    const { db, clock } = old
    const shop = await registerShop({ db, clock })
    const before = await fetchToken(old.baseUrl, shop)
    const oldKid = decodeProtectedHeader(before).kid

    clock.advance(1000)
    const newKid = await (await keyRingOf({ db, clock })).rotate({ actor: 'cli:test' })
    // Another process, which reads the keys now.
    const later = await start(old)
    const after = await fetchToken(later.baseUrl, shop)
    expect(decodeProtectedHeader(after).kid).toBe(newKid)
    expect(newKid).not.toBe(oldKid)
    await sleepMs(reloadMs)
    for (const at of [old, later]) {
      // The first of them has not seen the new key yet.
      for (const token of [before, after]) expect((await at.call('/transaction', { token })).status).toBe(200)
      const published = await at.call<{ keys: { kid: string }[] }>('/.well-known/jwks.json')
      expect(published.body.keys.map(({ kid }) => kid)).toEqual([newKid, oldKid])
      const keys = createRemoteJWKSet(new URL(`${at.baseUrl}/.well-known/jwks.json`))
      for (const token of [before, after])
        await jwtVerify(token, keys, { typ: 'at+jwt', audience: 'guiche', currentDate: clock.now() })
    }

    clock.advance(2 * dayMs)
    await sleepMs(reloadMs)
    const published = await later.call<{ keys: { kid: string }[] }>('/.well-known/jwks.json')
    expect(published.body.keys.map(({ kid }) => kid)).toEqual([newKid])
  })

  it('is replaced automatically after ninety days', async () => {
    const { clock, baseUrl, sandbox } = await start()
    const kidNow = async () => decodeProtectedHeader(await fetchToken(baseUrl, sandbox)).kid
    const first = await kidNow()
    clock.advance(90 * dayMs - 1)
    expect(await kidNow()).toBe(first)
    clock.advance(1)
    const second = await kidNow()
    expect(second).not.toBe(first)
    expect(await kidNow()).toBe(second)
  })

  it('is the one that is not retired, even if it was created with a slow clock', async () => {
    const first = await start()
    const { db, clock, sandbox, token } = first
    const behind = { now: () => new Date(clock.now().getTime() - hourMs) }
    const kid = await createKeyRing({ ...(await depsOf({ db, clock })), clock: behind }).rotate({ actor: 'cli:test' })
    expect(kid).not.toBe(decodeProtectedHeader(token).kid)
    const other = await start(first)
    expect(decodeProtectedHeader(await fetchToken(other.baseUrl, sandbox)).kid).toBe(kid)
  })

  it('is known to its creator, even if the keys were being read during the commit', async () => {
    const { db, clock } = await start()
    const [committing, reading] = [gate(), gate()]
    const slow: Db = {
      ...db,
      transaction: async (work) =>
        await db.transaction(async (tx) => {
          const result = await work(tx)
          committing.arrive()
          await committing.opened
          return result
        }),
    }
    const ring = createKeyRing({ ...(await depsOf({ db, clock })), db: slow })
    const before = (await ring.signingKey()).kid
    const rotated = ring.rotate({ actor: 'cli:test' })
    await committing.arrived
    slow.query = async (statement) => {
      const rows = await db.query(statement)
      reading.arrive()
      await reading.opened
      return rows as never
    }
    await sleepMs(reloadMs)
    const unknown = ring.findKey('unknown')
    await reading.arrived
    committing.open()
    await sleepMs(50)
    reading.open()
    expect(await unknown).toBeNull()
    const after = await rotated
    expect(after).not.toBe(before)
    expect((await ring.signingKey()).kid).toBe(after)
  })

  it('is created once when many request the first token concurrently, while unknown tokens arrive', async () => {
    const own = await start()
    await own.db.pool.query('delete from signing_keys')
    const two = await Promise.all([start(own), start(own)])
    const unknown = own.token.replace(
      /^[^.]+/,
      Buffer.from('{"alg":"ES256","typ":"at+jwt","kid":"x"}').toString('base64url'),
    )
    const kids = await Promise.all(
      two.flatMap((at) =>
        Array.from({ length: 10 }, async () => {
          expect((await at.call('/transaction', { token: unknown })).status).toBe(401)
          return decodeProtectedHeader(await fetchToken(at.baseUrl, own.sandbox)).kid
        }),
      ),
    )
    expect(new Set(kids).size).toBe(1)
  })

  const started: TestService[] = []
  afterEach(async () => {
    for (const one of started.splice(0).reverse()) await one.stop()
  })

  /** The second and third service of a test use the first one's database. */
  async function start(first?: TestService): Promise<TestService> {
    const one = await startTestService({ ...(first && { database: first, clock: first.clock }) })
    started.push(one)
    return one
  }
})

describe('the key that encrypts stored secrets', () => {
  const newKey = () => parseSecretKey(newSecretKey())

  it('must be the one that the database was created with', async () => {
    const { db, connectionString, drop } = await createEmptyDatabase()
    const environment = { SECRET_KEY: newSecretKey() }
    const first = await startTestService({ database: { db, connectionString }, environment })
    const token = await fetchToken(first.baseUrl, first.sandbox)
    await first.stop()

    const startWith = async (other: Record<string, string>) =>
      await startTestService({ database: { db, connectionString }, environment: other })
    await expect(startWith({ SECRET_KEY: newSecretKey() })).rejects.toThrow(
      /^SECRET_KEY is not the one that this database was set up with\. To replace the key, set SECRET_KEY_PREVIOUS/,
    )
    await expect(startWith({})).rejects.toThrow(
      'This database was set up with a SECRET_KEY, which is not set now. Set it again.',
    )
    const again = await startTestService({ database: { db, connectionString }, environment, clock: first.clock })
    expect((await again.call('/transaction', { token })).status).toBe(200)
    await again.stop()
    await drop()
  })

  it('gives advice when one is set on a database that generated its own', async () => {
    await expect(loadSecretKey(service.db, newKey())).rejects.toThrow(/Start the service once with SECRET_KEY/)
    const { rows } = await service.db.pool.query("select value from settings where name = 'secret_key'")
    const generated = parseSecretKey(String(rows[0]?.value))
    expect((await loadSecretKey(service.db, generated)).key).toEqual((await loadSecretKey(service.db, null)).key)
  })

  it('is replaced: the generated one by a configured one, and that by another, without any effect on clients', async () => {
    const database = await createTestDatabase()
    const { db } = database
    const keys = [newSecretKey(), newSecretKey()]
    const environments: Record<string, string>[] = [
      {},
      { SECRET_KEY: keys[0] ?? '' },
      { SECRET_KEY: keys[1] ?? '', SECRET_KEY_PREVIOUS: keys[0] ?? '' },
      { SECRET_KEY: keys[1] ?? '' },
    ]
    const body = smallestTransaction({ idempotencyKey: 'order-one-key' })
    let first: { sandbox: TestService['sandbox']; id: unknown; paths: string[]; jwks: string } | null = null
    for (const [index, environment] of environments.entries()) {
      const running = await startTestService({ database, environment })
      const { key } = await loadSecretKey(db, parseSecretKey(environment.SECRET_KEY ?? ''))
      expect(key.former, `key ${index}`).toHaveLength(Math.min(index, 2))
      const token = await fetchToken(running.baseUrl, first?.sandbox ?? running.sandbox)
      const created = await running.call('/transaction', { token, body })
      const { id } = created.body
      const jwks = (await running.call('/.well-known/jwks.json')).text
      first ??= {
        sandbox: running.sandbox,
        id,
        paths: [`/pay/${paymentToken(key, String(id))}`, callbackPath(key, 'simulator')],
        jwks,
      }
      expect([created.status, id, jwks]).toEqual([201, first.id, first.jwks])
      const [page = '', callback = ''] = first.paths
      expect((await running.call(page)).status).toBe(200)
      expect((await running.call(callback, { body: { pix: [] } })).status).toBe(200)
      const { rows } = await db.pool.query('select merchant_id from clients')
      const merchantIds = rows.map(({ merchant_id }) => String(merchant_id))
      const signing = await findSigningSecrets(db, { key, merchantIds, now: running.clock.now() })
      expect([...signing.values()]).toEqual([[first.sandbox.webhookSecret]])
      await running.stop()
    }
    const { rows: generated } = await db.pool.query("select from settings where name = 'secret_key'")
    expect(generated).toEqual([])
    const former = startTestService({ database, environment: { SECRET_KEY: keys[0] ?? '' } })
    await expect(former).rejects.toThrow(/^SECRET_KEY is not the one/)
    await database.drop()
  })

  it('is replaced in every column whose name begins with `sealed`', async () => {
    const { rows } = await service.db.pool.query(
      `select table_name as "table", column_name as "column" from information_schema.columns
       where table_schema = 'public' and data_type = 'bytea' and column_name like 'sealed%' order by 1, 2`,
    )
    const known = sealedColumns.map(({ table, column }) => ({ table, column }))
    expect(known.toSorted((one, other) => compare(one.table, other.table))).toEqual(rows)
  })

  it('is the same for all processes that start concurrently on a new database', async () => {
    const { db, drop } = await createEmptyDatabase()
    await db.pool.query('create table settings (name text primary key, value text not null)')
    const loaded = await Promise.all(Array.from({ length: 8 }, () => loadSecretKey(db, null)))
    expect(new Set(loaded.map(({ key }) => key.current.toString('hex'))).size).toBe(1)
    await drop()
  })
})

async function sleepMs(ms: number): Promise<void> {
  await new Promise((done) => setTimeout(done, ms))
}

/** A barrier where a task waits until another releases it. */
function gate() {
  let arrive = () => {}
  let open = () => {}
  const arrived = new Promise<void>((done) => {
    arrive = done
  })
  const opened = new Promise<void>((done) => {
    open = done
  })
  return { arrive, arrived, open, opened }
}
