import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { createTestMerchant, testSecretKey } from '../../test/support/webhooks.ts'
import { sql } from '../db/sql.ts'
import { findSigningSecrets, overlapMs, rotateWebhookSecret } from './secrets.ts'

const key = testSecretKey()
const now = new Date('2026-03-02T15:00:00.000Z')
const later = (ms: number) => new Date(now.getTime() + ms)

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

async function alive(merchantId: string, at: Date): Promise<string[]> {
  const found = await findSigningSecrets(database.db, { key, merchantIds: [merchantId], now: at })
  return found.get(merchantId) ?? []
}

describe('webhook secrets', () => {
  it('are 32 bytes in the format of Standard Webhooks, and encrypted in the database', async () => {
    const { merchantId, secret } = await createTestMerchant(database.db, { key, now })
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
    const rows = await database.db.query<{ sealed: Buffer }>(sql`select sealed from webhook_secrets`)
    expect(rows.some(({ sealed }) => sealed.includes(secret))).toBe(false)
    expect(await alive(merchantId, now)).toEqual([secret])
  })

  it('sign two at a time during a rotation, the newer first, until the overlap ends', async () => {
    const { merchantId, secret: first } = await createTestMerchant(database.db, { key, now })
    const { secret: second } = await rotateWebhookSecret(database.db, {
      by: { actor: 'cli:test' },
      key,
      merchantId,
      now: later(1000),
    })
    expect(await alive(merchantId, later(1000))).toEqual([second, first])
    expect(await alive(merchantId, later(1000 + overlapMs - 1))).toEqual([second, first])
    expect(await alive(merchantId, later(1000 + overlapMs))).toEqual([second])
  })

  it('keep the one before the first rotation when it is repeated: nobody received the secret of a lost response', async () => {
    const { merchantId, secret: first } = await createTestMerchant(database.db, { key, now })
    const rotate = async (ms: number) =>
      await rotateWebhookSecret(database.db, {
        ...{ by: { actor: 'cli:test' }, key, merchantId, id: '6f1c2d3e-4a5b-4c6d-8e7f-102132435465', now: later(ms) },
      })
    await rotate(1000)
    await rotate(2000)
    const { secret: third, formerExpiresAt } = await rotate(3000)
    expect(formerExpiresAt).toEqual(later(1000 + overlapMs))
    expect(await alive(merchantId, later(3000))).toEqual([third, first])
    expect(await alive(merchantId, later(1000 + overlapMs))).toEqual([third])
  })

  it('are never more than two, both of them new, even when rotated often and concurrently', async () => {
    const { merchantId } = await createTestMerchant(database.db, { key, now })
    const made = await Promise.all(
      Array.from({ length: 6 }, () =>
        rotateWebhookSecret(database.db, { by: { actor: 'cli:test' }, key, merchantId, now }),
      ),
    )
    const living = await alive(merchantId, now)
    expect(living).toHaveLength(2)
    expect(made.map(({ secret }) => secret)).toEqual(expect.arrayContaining(living))
  })

  it('of one merchant do not sign for another', async () => {
    const [one, other] = [
      await createTestMerchant(database.db, { key, now }),
      await createTestMerchant(database.db, { key, now }),
    ]
    await rotateWebhookSecret(database.db, {
      by: { actor: 'cli:test' },
      key,
      merchantId: one.merchantId,
      now,
      overlapMs: 0,
    })
    expect(await alive(one.merchantId, now)).toHaveLength(1)
    expect(await alive(other.merchantId, now)).toEqual([other.secret])
  })

  it('that cannot be decrypted are skipped, and affect nobody else', async () => {
    const [one, other] = [
      await createTestMerchant(database.db, { key: testSecretKey(), now }),
      await createTestMerchant(database.db, { key, now }),
    ]
    const merchantIds = [one.merchantId, other.merchantId]
    const found = await findSigningSecrets(database.db, { key, merchantIds, now })
    expect([...found]).toEqual([[other.merchantId, [other.secret]]])
  })
})
