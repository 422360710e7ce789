import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { connect, type Db, raw, sql } from '../db/sql.ts'
import { type Action, recordAction } from './record.ts'
import { findAuditHead, listActions } from './store.ts'
import { verifyAudit } from './verify.ts'

const now = new Date('2026-03-02T15:00:00.000Z')
let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(async () => await database.drop())

const actionsOf = async (recordId: string) => await listActions(database.db, { recordIds: [recordId], limit: 10 })

/** Like every operation: its change and its audit entry are in one transaction. */
async function operate(action: Omit<Action, 'action' | 'now'>, name: string, { fails = false } = {}): Promise<void> {
  await database.db.transaction(async (tx) => {
    await tx.query(sql`insert into settings (name, value) values (${name}, 'x')`)
    await recordAction(tx, { ...action, action: 'transaction.create', now })
    if (fails) throw new Error('refused')
  })
}

it('records who did what, and who is behind `--as`', async () => {
  const [recordId, merchantId] = [randomUUID(), randomUUID()]
  const by = { actor: 'cli:maria', login: 'root' }
  await operate({ by, recordId, merchantId, details: { amount: 1 } }, 'recorded')
  expect(await actionsOf(recordId)).toMatchObject([
    { actor: 'cli:maria', action: 'transaction.create', merchant_id: merchantId, details: { amount: 1, by: 'root' } },
  ])
})

it('records nothing of what was refused, nor of what an API client did', async () => {
  const recordId = randomUUID()
  await expect(operate({ by: { actor: 'cli:maria' }, recordId }, 'refused', { fails: true })).rejects.toThrow('refused')
  await operate({ by: null, recordId }, 'by an API client')
  expect(await actionsOf(recordId)).toEqual([])
})

it('does nothing that cannot be recorded', async () => {
  await expect(operate({ by: { actor: 'cli:maria' }, recordId: 'not an id' }, 'unrecorded')).rejects.toThrow()
  expect(await database.db.query(sql`select from settings where name = 'unrecorded'`)).toEqual([])
})

it('lists the latest entries in order, and filters by record', async () => {
  const [recordId, other] = [randomUUID(), randomUUID()]
  await database.db.transaction(async (tx) => {
    for (const action of ['suspense.match', 'suspense.undo', 'suspense.return'] as const)
      await recordAction(tx, { by: { actor: 'cli:x' }, action, recordId, now })
    await recordAction(tx, { by: { actor: 'cli:x' }, action: 'user.accept', recordId: other, now })
  })
  const names = (rows: { action: string }[]) => rows.map(({ action }) => action)
  expect(names(await actionsOf(recordId))).toEqual(['suspense.match', 'suspense.undo', 'suspense.return'])
  expect(names(await listActions(database.db, { recordIds: null, limit: 2 }))).toEqual([
    'suspense.return',
    'user.accept',
  ])
})

describe('the chain', () => {
  let chained: TestDatabase
  let superuser: Db
  beforeAll(async () => {
    chained = await createTestDatabase()
    const url = new URL(chained.connectionString)
    url.username = 'postgres'
    superuser = connect({ connectionString: url.href, connectionsMax: 1, waitMs: 60_000, onError: () => {} })
    for (const actor of ['cli:ana', 'cli:bruno', 'cli:carla', 'cli:davi'])
      await chained.db.transaction(async (tx) => {
        const details = { reason: `por "${actor}": não, ç\n` }
        await recordAction(tx, { by: { actor }, action: 'payouts.freeze', recordId: randomUUID(), details, now })
      })
  })
  afterAll(async () => {
    await superuser.pool.end()
    await chained.drop()
  })

  /** Changes made by a superuser who knows how the log is stored. They are undone after the verification. */
  async function tamper(...statements: string[]): Promise<string[]> {
    const found: string[] = []
    const undone = superuser.transaction(async (tx) => {
      await tx.query(raw('set local session_replication_role = replica'))
      for (const statement of statements) await tx.query(raw(statement))
      const { breaches } = await verifyAudit(tx)
      found.push(...breaches.map(({ entry, detail }) => `${entry} ${detail}`))
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    return found
  }

  it('reports nothing for an unchanged log, in whichever order its entries were committed', async () => {
    await Promise.all(
      Array.from({ length: 40 }, async (_, number) =>
        chained.db.transaction(async (tx) => {
          await recordAction(tx, {
            by: { actor: `cli:${number}` },
            action: 'suspense.undo',
            recordId: randomUUID(),
            now,
          })
          await tx.query(sql`select pg_sleep(${(number * 7) % 3 === 0 ? 0.01 : 0})`)
        }),
      ),
    )
    expect(await verifyAudit(chained.db)).toMatchObject({ entries: 44, breaches: [], head: { position: 44 } })
    expect(await findAuditHead(chained.db)).toEqual((await verifyAudit(chained.db)).head)
  })

  it.each([
    [
      'an entry that was changed',
      [`update audit_log set actor = 'cli:nobody' where actor = 'cli:bruno'`],
      /^2 was changed/,
    ],
    ['details that were changed', [`update audit_log set details = '{}' where actor = 'cli:carla'`], /^3 was changed/],
    [
      'an entry whose hash was made to fit',
      [
        `update audit_log set actor = 'cli:nobody' where actor = 'cli:bruno'`,
        `update audit_chain set hash = audit_entry_hash((select hash from audit_chain where position = 1), a)
        from audit_log a where a.id = entry_id and position = 2`,
      ],
      /^3 was changed, or the one before it was/,
    ],
    [
      'an entry that was deleted from the log alone',
      [`delete from audit_log where actor = 'cli:bruno'`],
      /^2 was deleted/,
    ],
    [
      'an entry that was deleted',
      ['delete from audit_chain where position = 2', `delete from audit_log where actor = 'cli:bruno'`],
      /^2 is missing from the chain$/,
    ],
    [
      'entries that were deleted',
      [
        'delete from audit_chain where position in (2, 3)',
        `delete from audit_log where actor in ('cli:bruno', 'cli:carla')`,
      ],
      /^2 is missing from the chain, as are all up to number 3$/,
    ],
    [
      'an entry that was inserted',
      [`insert into audit_log (at, actor, action) values (now(), 'cli:ana', 'user.accept')`],
      /^0 1 entry of the audit log is not in the chain$/,
    ],
  ])('finds %s', async (_, statements, expected) => {
    expect((await tamper(...statements)).join('\n')).toMatch(expected)
  })

  it('finds by the signed heads a log that was rewritten to its end, and one that was truncated', async () => {
    const { head } = await verifyAudit(chained.db)
    const sha256 = 'ab'.repeat(32)
    const rewritten = await verifyAudit(chained.db, [
      { position: 4, sha256, statementName: 'the statement of one day' },
    ])
    expect(rewritten.breaches).toEqual([
      { entry: 4, detail: 'is not the entry that was signed in the statement of one day' },
    ])
    const cut = await verifyAudit(chained.db, [{ position: 99, sha256, statementName: 'another' }])
    expect(cut.breaches).toEqual([{ entry: 99, detail: 'was signed in another and is not there any more' }])
    if (!head) throw new Error('there are entries')
    expect((await verifyAudit(chained.db, [{ ...head, statementName: 'a third' }])).breaches).toEqual([])
  })

  it.each(['update audit_log set actor = actor', 'delete from audit_chain', 'truncate audit_log'])(
    'cannot be changed by its owner, nor by a superuser while its triggers are enabled: %s',
    async (statement) => {
      await expect(chained.db.query(raw(statement))).rejects.toThrow(/only ever added to|permission denied/)
      await expect(superuser.query(raw(statement))).rejects.toThrow('the audit log is only ever added to')
    },
  )

  it('is protected in the same way as the ledger, closed days and statement keys', async () => {
    for (const [table, column] of [
      ['ledger_transfers', 'amount'],
      ['closed_days', 'sha256'],
      ['statement_keys', 'public_jwk'],
    ])
      for (const statement of [
        `update ${table} set ${column} = ${column}`,
        `delete from ${table}`,
        `truncate ${table}`,
      ])
        await expect(superuser.query(raw(statement)), statement).rejects.toThrow(`${table} is only ever added to`)
    // This column may change: replacing SECRET_KEY encrypts the private key again.
    await superuser.query(raw('update statement_keys set sealed_private_jwk = sealed_private_jwk'))
  })
})

it('accepts only the allowed details of an action, none longer than its field', async () => {
  const record = async (details: Record<string, unknown>) =>
    await database.db.transaction(
      async (tx) =>
        await recordAction(tx, {
          by: { actor: 'cli:x' },
          action: 'client.scopes',
          recordId: randomUUID(),
          details,
          now,
        }),
    )
  await record({ clientId: 'a', scopes: ['balance.read'] })
  for (const forged of [{ merchantId: 'b' }, { clientId: 'a'.repeat(129) }, { scopes: Array(51).fill('x') }])
    await expect(record({ clientId: 'a', ...forged })).rejects.toThrow(/audit details of client.scopes/)
})

it('records the longest address of another cell that the command line accepts', async () => {
  const recordId = randomUUID()
  const details = { clientId: 'a', cell: 'b', address: 'https://'.padEnd(200, 'a') }
  await database.db.transaction(
    async (tx) => await recordAction(tx, { by: { actor: 'cli:x' }, action: 'client.move', recordId, details, now }),
  )
  expect(await actionsOf(recordId)).toMatchObject([{ details }])
})
