import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/support/database.ts'
import { rowsParam, smallRowsParam } from './rows-param.ts'
import { sql } from './sql.ts'

type Row = {
  id: string
  name: string | null
  details: unknown
  isNew: boolean | null
  count: number | null
  amount: number | null
  at: Date | null
  words: string[] | null
  dates: Date[]
}

const toParam = rowsParam<Row>({
  id: 'uuid',
  name: 'text',
  details: 'json',
  isNew: 'boolean',
  count: 'integer',
  amount: 'bigint',
  at: 'timestamptz',
  words: 'text[]',
  dates: 'timestamptz[]',
})

let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

describe('rows as a parameter', () => {
  it('arrive unchanged, at the limits of every type', async () => {
    const rows: Row[] = [
      {
        id: '00000000-0000-4000-8000-000000000000',
        name: '',
        details: { a: [1, 'ç', null] },
        isNew: true,
        count: 2 ** 31 - 1,
        amount: Number.MAX_SAFE_INTEGER,
        at: new Date('2026-11-21T08:00:00.123Z'),
        words: ['PENDING', 'PAID'],
        dates: [new Date('1999-12-31T23:59:59.999Z'), new Date('2038-01-19T03:14:08.001Z')],
      },
      {
        id: 'ffffffff-ffff-4fff-bfff-ffffffffffff',
        name: 'São Paulo "quoted" \\ {braces}, comma 😀',
        details: 'text',
        isNew: false,
        count: -(2 ** 31),
        amount: -Number.MAX_SAFE_INTEGER,
        at: new Date('1969-07-20T20:17:40.001Z'),
        words: [],
        dates: [],
      },
      plain,
    ]
    expect(await read(rows)).toEqual(rows)
  })

  it.each([
    '0001-01-01T00:00:00.000Z',
    '1713-12-31T23:59:59.999Z',
    '2286-01-01T00:00:00.001Z',
    '9999-12-31T23:59:59.999Z',
  ])('may be of %s', async (moment) => {
    const [row] = await database.db.query<{ at: string }>(sql`
        select to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at from ${toParam([{ ...plain, at: new Date(moment) }])}`)
    expect(row).toEqual({ at: moment })
  })

  it('keep their UUIDs, in either case', async () => {
    const ids = Array.from({ length: 50 }, () => randomUUID())
    const rows = [...ids, ...ids.map((id) => id.toUpperCase())].map((id) => ({ ...plain, id }))
    expect((await read(rows)).map(({ id }) => id)).toEqual([...ids, ...ids])
  })

  it('keep words that PostgreSQL would read as nulls', async () => {
    const rows = [{ ...plain, words: ['null', 'NULL', 'nullable'] }]
    expect(await read(rows)).toEqual(rows)
  })

  it('have their own dates each', async () => {
    const moments = [0, 1, 1, 2, 0].map((ms) => new Date(1_763_712_000_000 + ms))
    const rows = moments.map((moment, index) => ({ ...plain, dates: [moment, moments[index + 1] ?? moment] }))
    expect(await read(rows)).toEqual(rows)
  })

  it('may be empty', async () => {
    expect(await read([])).toEqual([])
  })

  it('may be larger than the initial buffer', async () => {
    const rows = [1, 2, 3].map((count) => ({ ...plain, count, name: 'ã😀'.repeat(40_000 * count) }))
    expect(await read(rows)).toEqual(rows)
  })

  it.each([
    ['text that is no UUID', { id: 'no-uuid' }],
    ['a UUID without dashes', { id: plain.id.replaceAll('-', '') }],
    ['a UUID with dashes elsewhere', { id: '1234567-89abc-4def-8012-3456789abcde' }],
    ['a UUID with an invalid character', { id: plain.id.replace('c', 'g') }],
    ['a UUID with a non-ASCII character', { id: plain.id.replace('c', 'ç') }],
    ['a UUID that is too long', { id: `${plain.id}0` }],
    ['an integer that is not safe', { amount: 2 ** 53 }],
    ['an invalid date', { at: new Date(Number.NaN) }],
    ['an invalid date in an array', { dates: [new Date(Number.NaN)] }],
    ['a word that would need quotes', { words: ['a,b'] }],
  ])('are refused with %s', (_name, wrong) => {
    expect(() => toParam([{ ...plain, ...wrong }])).toThrow()
  })
})

describe('a statement of a few rows', () => {
  it.each([
    ['is planned once', smallRowsParam, 5],
    ['is planned again for each number of rows if the planner sees it', rowsParam, 30],
  ])('%s', async (_name, givenBy, planned) => {
    const { db } = database
    const few = givenBy<{ id: string }>({ id: 'uuid' })
    const name = `few-${planned}`
    const custom = await db.transaction(async (tx) => {
      await tx.query(sql`create temporary table things (id uuid primary key) on commit drop`)
      await tx.query(sql`insert into things select gen_random_uuid() from generate_series(1, 10000)`)
      await tx.query(sql`analyze things`)
      for (let time = 0; time < 30; time += 1) {
        const ids = Array.from({ length: 1 + (time % 3) }, () => ({ id: randomUUID() }))
        await tx.query(sql`select * from things where id in (select input.id from ${few(ids)})`, name)
      }
      const [plans] = await tx.query<{ custom: number }>(
        sql`select custom_plans as custom from pg_prepared_statements where name = ${name}`,
      )
      return plans?.custom
    })
    // PostgreSQL always makes five custom plans before it considers keeping a generic one.
    expect(custom).toBe(planned)
  })
})

const plain: Row = {
  id: '12345678-9abc-4def-8012-3456789abcde',
  name: null,
  details: null,
  isNew: null,
  count: null,
  amount: null,
  at: null,
  words: null,
  dates: [],
}

async function read(rows: Row[]): Promise<Row[]> {
  return await database.db.query<Row>(
    sql`
      select id, name, details, "isNew", count, amount, at, words::text[] as words, dates::timestamptz[] as dates
      from ${toParam(rows)}`,
    'rows-param-test',
  )
}
