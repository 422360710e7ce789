import { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createEmptyDatabase, type TestDatabase } from '../../test/support/database.ts'
import { assert } from '../lib/assert.ts'
import { type Db, sql, type Tx } from './sql.ts'

let database: TestDatabase
let db: Db

beforeAll(async () => {
  database = await createEmptyDatabase()
  db = database.db
  await db.query(sql`create table notes (id int primary key)`)
})

afterAll(() => database.drop())

describe('numbers', () => {
  it('are returned as safe integers, not as text', async () => {
    const [row] = await db.query(
      sql`select 9007199254740991::int8 as most, sum(v)::int8 as sum, count(*) from (values (1::int8), (-3)) t (v)`,
    )
    expect(row).toEqual({ most: Number.MAX_SAFE_INTEGER, sum: -2, count: 2 })
  })

  it('are returned as null if the database has null', async () => {
    expect(await db.query(sql`select null::int8 as nothing`)).toEqual([{ nothing: null }])
  })

  it('are refused rather than rounded', async () => {
    await expect(db.query(sql`select 9007199254740993::int8 as n`)).rejects.toThrow(/not a safe integer/)
    await expect(db.query(sql`select 1.5::numeric as n`)).rejects.toThrow(/not a safe integer/)
    expect(await db.query(sql`select 1 as n`)).toEqual([{ n: 1 }])
  })
})

describe('a transaction', () => {
  const ids = async () => (await db.query<{ id: number }>(sql`select id from notes order by id`)).map(({ id }) => id)

  /** The text of each write. Node.js calls `_writev` for two or more messages at once, and `_write` for one. */
  async function watchWrites(work: () => Promise<void>): Promise<string[]> {
    const { _write: writeOne, _writev: writeSeveral } = Socket.prototype
    const sent: string[] = []
    const ofOne = vi.spyOn(Socket.prototype, '_write').mockImplementation(function (this: Socket, chunk, ...rest) {
      sent.push(String(chunk))
      writeOne.call(this, chunk, ...rest)
    })
    const ofSeveral = vi.spyOn(Socket.prototype, '_writev').mockImplementation(function (this: Socket, chunks, done) {
      sent.push(chunks.map(({ chunk }) => String(chunk)).join(''))
      writeSeveral?.call(this, chunks, done)
    })
    try {
      await work()
    } finally {
      ofOne.mockRestore()
      ofSeveral.mockRestore()
    }
    return sent
  }

  it('sends the statements of one turn in one write', async () => {
    const sent = await watchWrites(async () => {
      await db.transaction(async (tx) => {
        const rows = await Promise.all([tx.query(sql`select 1 as n`), tx.query(sql`select 2 as n`)])
        expect(rows).toEqual([[{ n: 1 }], [{ n: 2 }]])
      })
    })
    expect(sent.filter((text) => text.includes('select 1 as n') && text.includes('select 2 as n'))).toHaveLength(1)
  })

  it('sends a pipelined lock with the first statements, and the commit with the last ones', async () => {
    const sent = await watchWrites(async () => {
      await db.transaction(
        async (tx) => {
          await tx.query(sql`select 1 as first`)
          tx.sendLast(async () => await tx.query(sql`select 2 as last`))
        },
        { number: 1, isShared: true, isPipelined: true },
      )
    })
    expect(sent).toEqual([
      expect.stringMatching(/begin; select pg_advisory_xact_lock_shared.*select 1 as first/s),
      expect.stringMatching(/select 2 as last.*commit/s),
    ])
  })

  it('fails with the error of a last statement, also when another one was skipped because of it', async () => {
    const fail = (tx: Tx) => tx.sendLast(async () => await tx.query(sql`select 1 / 0`))
    const works: ((tx: Tx) => Promise<void>)[] = [
      async (tx) => {
        await tx.query(sql`insert into notes (id) values (7)`)
        fail(tx)
      },
      async (tx) => {
        fail(tx)
        await tx.query(sql`insert into notes (id) values (7)`)
      },
    ]
    for (const work of works) await expect(db.transaction(work)).rejects.toMatchObject({ code: '22012' })
    expect(await ids()).not.toContain(7)
    expect(db.pool.idleCount).toBe(db.pool.totalCount)
  })

  it.each([
    ['cannot be built', async () => assert(false, 'a row cannot be encoded')],
    ['is sent late', async (tx: Tx) => await nextTurn().then(async () => await tx.query(sql`select 1 / 0`))],
  ])('is not committed when a last statement %s', async (_, send) => {
    const work = db.transaction(async (tx) => {
      await tx.query(sql`insert into notes (id) values (8)`)
      tx.sendLast(async () => await send(tx))
    })
    await expect(work).rejects.toThrow(/cannot be encoded|division by zero/)
    expect(await ids()).not.toContain(8)
  })

  it('commits the work and returns its result', async () => {
    const result = await db.transaction(async (tx) => {
      await tx.query(sql`insert into notes (id) values (${1})`)
      expect(await ids()).toEqual([])
      return 'done'
    })
    expect(result).toBe('done')
    expect(await ids()).toEqual([1])
  })

  it('rolls everything back when the work throws, and passes on the error', async () => {
    const wrong = new Error('changed my mind')
    const work = async (tx: Tx) => {
      await tx.query(sql`insert into notes (id) values (2)`)
      throw wrong
    }
    await expect(db.transaction(work)).rejects.toBe(wrong)
    expect(await ids()).toEqual([1])
  })

  it('rolls back after an error of the database', async () => {
    const work = async (tx: Tx) => {
      await tx.query(sql`insert into notes (id) values (3)`)
      await tx.query(sql`insert into notes (id) values (1)`)
    }
    await expect(db.transaction(work)).rejects.toMatchObject({ code: '23505' })
    expect(await ids()).toEqual([1])
    expect(db.pool.idleCount).toBe(db.pool.totalCount)
  })

  it('fails when its connection is lost, and the next one works', async () => {
    const work = (tx: Tx) => tx.query(sql`select pg_terminate_backend(pg_backend_pid())`)
    await expect(db.transaction(work)).rejects.toThrow()
    expect(await ids()).toEqual([1])
  })

  it('is a separate type', () => {
    // @ts-expect-error: a Db is not inside a transaction.
    const tx: Tx = db
    expect(tx).toBe(db)
  })
})
