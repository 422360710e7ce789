import { describe, expect, it } from 'vitest'
import { type Problem, refusedFields } from './requests.ts'
import type { TestService } from './service.ts'

export type Page<Item = Listed> = {
  total: number
  totalPages: number
  currentPage: number
  perPage: number
  data: Item[]
  nextCursor: string | null
}
type Listed = { id: string; createdAt: string }

/** How many records a list must have for {@link describePages}, some of them with the same time. */
export const recordsOfPages = 45

/**
 * Tests that the lists of transactions and of withdrawals share: pages, their order and the cursor.
 *
 * @param open a service whose client has exactly {@link recordsOfPages} records at `path`
 */
export function describePages(path: string, open: () => TestService): void {
  const list = async (query = '') => {
    const answer = await open().call<Page>(`${path}${query}`)
    expect(answer.status, answer.text.slice(0, 300)).toBe(200)
    return answer.body
  }
  const refuse = async (query: string) => refusedFields(await open().call(`${path}${query}`))
  const listAll = async () => (await list('?perPage=100')).data

  describe('pages', () => {
    it('have twenty items, from the first page on, by default', async () => {
      const page = await list()
      expect(Object.keys(page).sort()).toEqual(['currentPage', 'data', 'nextCursor', 'perPage', 'total', 'totalPages'])
      expect(page).toMatchObject({ total: 45, totalPages: 3, currentPage: 1, perPage: 20 })
      expect(page.data).toEqual((await listAll()).slice(0, 20))
    })

    it.each([
      ['?page=3', 5, { totalPages: 3, currentPage: 3, perPage: 20 }],
      ['?page=4', 0, { totalPages: 3, currentPage: 4, perPage: 20 }],
      ['?page=5001', 0, { totalPages: 3, currentPage: 5001 }],
      ['?page=5002', 0, { totalPages: 3, currentPage: 5002, nextCursor: null }],
      ['?page=1000000000&minAmount=10', 0, { totalPages: 3, currentPage: 1_000_000_000 }],
      ['?page=5002&id=00000000-0000-4000-8000-000000000000', 0, { totalPages: 0, currentPage: 5002 }],
      ['?perPage=1', 1, { totalPages: 45, perPage: 1 }],
      ['?perPage=15&page=3', 15, { totalPages: 3, currentPage: 3, perPage: 15 }],
      ['?perPage=100', 45, { totalPages: 1, perPage: 100 }],
      ['?id=00000000-0000-4000-8000-000000000000', 0, { totalPages: 0, currentPage: 1 }],
    ])('with %s have %i items', async (query, length, expected) => {
      const page = await list(query)
      expect(page).toMatchObject(expected)
      expect(page.data).toHaveLength(length)
      expect(page.total).toBe(query.includes('id=') ? 0 : 45)
    })

    it.each([
      ['?page=0', 'page'],
      ['?page=-1', 'page'],
      ['?page=1.5', 'page'],
      ['?page=one', 'page'],
      ['?page=', 'page'],
      ['?page=1000000001', 'page'],
      ['?page=1&page=2', 'page'],
      ['?perPage=0', 'perPage'],
      ['?perPage=101', 'perPage'],
      ['?perPage=', 'perPage'],
      ['?per_page=5', 'per_page'],
      ['?limit=5', 'limit'],
      ['?STATUS=PENDING', 'STATUS'],
      ['?status[]=PENDING', 'status[]'],
    ])('with %s are refused', async (query, field) => {
      expect(await refuse(query)).toEqual([field])
    })

    it('are sorted newest first, then by id', async () => {
      const data = await listAll()
      const sorted = data.toSorted((a, b) => compare(b.createdAt, a.createdAt) || compare(b.id, a.id))
      expect(data.map(({ id }) => id)).toEqual(sorted.map(({ id }) => id))
      expect(new Set(data.map(({ createdAt }) => createdAt)).size).toBeLessThan(data.length)
    })

    it('contain each record once when requested by number', async () => {
      const pages = await Promise.all([1, 2, 3, 4, 5].map(async (page) => (await list(`?perPage=9&page=${page}`)).data))
      expect(pages.flat()).toEqual(await listAll())
    })
  })

  describe('the cursor', () => {
    it.each([1, 7, 45])('leads in pages of %i through every record once, and ends', async (perPage) => {
      const found: Listed[] = []
      let page = await list(`?perPage=${perPage}`)
      for (let number = 1; ; number++) {
        expect(page).toMatchObject({ total: 45, currentPage: number, perPage })
        found.push(...page.data)
        if (page.nextCursor === null) break
        expect(page.nextCursor).toMatch(/^[\w-]+$/)
        page = await list(`?perPage=${perPage}&cursor=${page.nextCursor}`)
      }
      expect(found).toEqual(await listAll())
    })

    it('continues a filtered list, when it is sent with the same filters', async () => {
      const [third] = (await listAll()).slice(2)
      const filter = `&endDate=${third?.createdAt}`
      const first = await list(`?perPage=1${filter}`)
      const second = await list(`?perPage=100${filter}&cursor=${first.nextCursor}`)
      // The two newest are excluded.
      expect(first.total).toBe(43)
      expect(first.data.length + second.data.length).toBe(first.total)
      expect(second.total).toBe(first.total)
    })

    it('is bound to its filters in any order, but not to the page size', async () => {
      const [newest] = await listAll()
      const ended = `endDate=${newest?.createdAt}`
      const { nextCursor } = await list(`?perPage=1&${ended}&minAmount=10`)
      expect((await list(`?minAmount=10&cursor=${nextCursor}&perPage=100&${ended}`)).data).toHaveLength(44)
      for (const filters of ['', 'minAmount=10', `${ended}&minAmount=11`, `${ended}&minAmount=10&maxAmount=10000000`]) {
        const refused = await open().call<Problem>(`${path}?${filters}&cursor=${nextCursor}`)
        expect(refusedFields(refused), filters).toEqual(['cursor'])
        expect(refused.body.detail).toContain('other filters')
      }
    })

    it('cannot be combined with a page number', async () => {
      const { nextCursor } = await list('?perPage=1')
      expect(await refuse(`?page=2&cursor=${nextCursor}`)).toEqual(['cursor'])
    })

    it('is refused when the service did not issue it', async () => {
      const { nextCursor } = await list('?perPage=1')
      const cursor = String(nextCursor)
      const [page, time, id, name] = Buffer.from(cursor, 'base64url').toString().split('.')
      const write = (...parts: unknown[]) => Buffer.from(parts.join('.')).toString('base64url')
      const others = [
        '',
        'x',
        'null',
        `${cursor}x`,
        `${cursor}!`,
        `${cursor}=`,
        cursor.slice(0, -1),
        cursor.slice(4),
        'x'.repeat(256),
        '%00',
        write(page, time),
        write(page, time, id),
        write(page, time, 'id', name),
        write('-1', time, id, name),
        write(page, '1e3', id, name),
        cursor.repeat(2),
        write(page, '9'.repeat(16), id, name),
        write(page, 'NaN', id, name),
        write(page, time, `${id}' or true --`, name),
        write(page, time, id, name, 'more'),
        write(page, time, id, 'others00'),
        write(page, `0${time}`, id, name),
      ]
      for (const other of others) expect(await refuse(`?cursor=${other}`), other).toEqual(['cursor'])
      expect(await refuse(`?cursor=${cursor}&cursor=${cursor}`)).toEqual(['cursor'])
    })

    it.each([9, 1_000_000_001])('leads to an empty page after the last record, as page %i', async (page) => {
      const name = Buffer.from(String((await list('?perPage=1')).nextCursor), 'base64url')
        .toString()
        .split('.')
        .at(-1)
      const cursor = Buffer.from(`${page}.0.00000000-0000-4000-8000-000000000000.${name}`).toString('base64url')
      expect(await list(`?cursor=${cursor}`)).toMatchObject({ total: 45, data: [], nextCursor: null })
    })
  })
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
