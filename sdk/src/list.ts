import type { Page } from './types.ts'

type PageOptions = { page?: number | undefined; perPage?: number | undefined; cursor?: string | undefined }

/** The service's maximum, so that reading all pages takes the fewest requests. */
const perPageMax = 100
const allMax = 10_000

/**
 * A list, newest first. Nothing is requested until it is read, in one of these ways:
 *
 * @example
 * ```ts
 * for await (const transaction of guiche.transactions.list({ status: ['PAID'] })) console.log(transaction.id)
 * const { data, total } = await guiche.transactions.list({ perPage: 50 }).page()
 * const latest = await guiche.transactions.list().all({ limit: 10 })
 * ```
 */
export class List<Entry> implements AsyncIterable<Entry> {
  readonly #fetch: (overrides: PageOptions) => Promise<Page<Entry>>
  readonly #options: PageOptions

  constructor(fetchPage: (overrides: PageOptions) => Promise<Page<Entry>>, options: PageOptions) {
    this.#fetch = fetchPage
    this.#options = options
  }

  /**
   * One page: the first, unless you gave `page` or `cursor`. 20 items, unless you gave `perPage`. It has the exact
   * `total` and the `nextCursor`.
   */
  page(): Promise<Page<Entry>> {
    return this.#fetch({})
  }

  /** Page after page to the end, from the requested one. 100 items each, unless you gave `perPage`. */
  async *pages(): AsyncGenerator<Page<Entry>, void, undefined> {
    const perPage = this.#options.perPage ?? perPageMax
    for (let overrides: PageOptions = { perPage }; ; ) {
      const page = await this.#fetch(overrides)
      yield page
      if (page.nextCursor === null) return
      overrides = { perPage, page: undefined, cursor: page.nextCursor }
    }
  }

  /** Item after item, over all pages. After a `break` no further page is requested. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Entry, void, undefined> {
    for await (const page of this.pages()) yield* page.data
  }

  /**
   * The items of all pages as an array: up to `limit` of them, if given. It requests pages of 100, unless you gave
   * `perPage`.
   *
   * @throws {RangeError} when there are more than 10,000 and no `limit` was given: read those one by one; or when `limit`
   *   is not a whole number
   */
  async all({ limit }: { limit?: number } = {}): Promise<Entry[]> {
    if (limit !== undefined && (limit % 1 !== 0 || limit < 0)) throw new RangeError('limit must be a whole number.')
    const items: Entry[] = []
    if (limit === 0) return items
    for await (const item of this) {
      if (limit === undefined && items.length === allMax)
        throw new RangeError(`There are more than ${allMax} items. Read them with "for await", or give a limit.`)
      items.push(item)
      if (items.length === limit) break
    }
    return items
  }
}
