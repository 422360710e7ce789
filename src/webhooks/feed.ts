import type { Db, Reads } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import { AppError } from '../lib/errors.ts'
import {
  emptySnapshot,
  type FeedFilters,
  findFeeds,
  findNumbered,
  listNumbered,
  lockFeed,
  type NumberedEvent,
  numberEvents,
  renewTransactionIds,
} from './feed-store.ts'

/**
 * Where a reader is in a merchant's feed: `start`, `end`, or an event's number and the beginning of its id, such as
 * `42-5c1df7a2`. After a restore of the database to an earlier moment the same number may belong to another event,
 * which the id reveals.
 */
export type Position = string

export const positionPattern = '^(?:start|end|[1-9][0-9]{0,14}-[0-9a-f]{8})$'

export type PositionedEvent = NumberedEvent & { position: Position }

export type FeedPage = {
  events: PositionedEvent[]
  /** The position up to which all events were read, including those that do not match the filters. */
  next: Position
  nextNumber: number
  /** More events can be read now. */
  hasMore: boolean
}

export type FeedRequest = FeedFilters & { merchantId: string; after: Position; limit: number }

type Deps = { db: Db; reads: Reads }

/** Events that are numbered in one transaction. A first reader may find millions. */
const numberedAtOnce = 5_000
/** Events that one request with a filter looks through; with `recordId`, all. */
const filteredAtOnce = 10_000
/** How long one request numbers events; the next request numbers the rest. */
const numberMaxMs = 10_000

/**
 * Reads the events after a position, in the order of their numbers. Whoever reads on from `next` gets every event once:
 * an event that commits later has a higher number.
 *
 * @throws {AppError} `position_unknown` if the feed does not have this position
 */
export async function readFeed(deps: Deps, { after, ...request }: FeedRequest): Promise<FeedPage> {
  const { merchantId } = request
  if (after === 'end') return await findEnd(deps, merchantId)
  const afterNumber = after === 'start' ? 0 : Number.parseInt(after, 10)
  const page = await readAfter(deps, { ...request, afterNumber })
  const position = await toPosition(deps.reads, merchantId, afterNumber)
  if (position !== after) throw positionUnknown()
  const { nextNumber } = page
  return { ...page, next: nextNumber === afterNumber ? after : await toPosition(deps.reads, merchantId, nextNumber) }
}

/** The same by number, for a reader whose position is in the same database. */
export async function readAfter(
  { db, reads }: Deps,
  { merchantId, afterNumber, limit, types, recordId, from }: Omit<FeedRequest, 'after'> & { afterNumber: number },
): Promise<Omit<FeedPage, 'next'>> {
  const isFiltered = types !== undefined || recordId !== undefined || from !== undefined
  const span = isFiltered ? filteredAtOnce : limit
  const { last, isComplete } = await numberNewEvents(db, merchantId, afterNumber + span)
  if (afterNumber > last) throw positionUnknown()
  // Few events belong to one record, and an index finds them.
  const until = recordId === undefined ? Math.min(afterNumber + span, last) : last
  const events = await listNumbered(reads, { merchantId, after: afterNumber, until, limit, types, recordId, from })
  const nextNumber = (events.length === limit ? events.at(-1)?.number : until) ?? until
  return {
    events: events.map((event) => ({ ...event, position: writePosition(event.number, event.eventId) })),
    nextNumber,
    hasMore: nextNumber < last || !isComplete,
  }
}

async function findEnd({ db, reads }: Deps, merchantId: string): Promise<FeedPage> {
  const { last, isComplete } = await numberNewEvents(db, merchantId, Number.POSITIVE_INFINITY)
  if (!isComplete) {
    throw new AppError('overloaded', {
      detail: 'This merchant has many events, and they are being numbered for the first time. Repeat the request.',
      headers: { 'retry-after': '1' },
    })
  }
  return { events: [], next: await toPosition(reads, merchantId, last), nextNumber: last, hasMore: false }
}

/**
 * Numbers new events until the feed reaches `until` or has them all, or the time is up. Requests take turns at the
 * merchant's lock, and each transaction under it numbers what became visible since the previous one.
 */
export async function numberNewEvents(
  db: Db,
  merchantId: string,
  until: number,
  limit = numberedAtOnce,
): Promise<{ last: number; isComplete: boolean }> {
  const [feed] = await findFeeds(db, [merchantId])
  let [last, isComplete] = [feed?.lastNumber ?? 0, feed?.hasNew === false]
  const endsAt = performance.now() + numberMaxMs
  while (!isComplete && last < until && performance.now() < endsAt) {
    ;({ lastNumber: last, isComplete } = await db.transaction(async (tx) => {
      const { lastNumber, snapshot, isOtherServer } = await lockFeed(tx, merchantId)
      if (isOtherServer) await renewTransactionIds(tx, merchantId)
      return await numberEvents(tx, {
        merchantId,
        lastNumber,
        snapshot: isOtherServer ? emptySnapshot : snapshot,
        limit,
      })
    }))
  }
  return { last, isComplete }
}

async function toPosition(reads: Reads, merchantId: string, number: number): Promise<Position> {
  if (number === 0) return 'start'
  const id = (await findNumbered(reads, { merchantId, numbers: [number] })).get(number)
  assert(id !== undefined, 'numbers have no gap')
  return writePosition(number, id)
}

function writePosition(number: number, id: string): Position {
  return `${number}-${id.slice(0, 8)}`
}

function positionUnknown(): AppError {
  return new AppError('position_unknown', {
    detail:
      'The feed has no event at this position: it is from another merchant or installation, or the database was restored to an earlier moment. Begin again with after=start, and a startDate before the last event that you have, and skip the ids that you have.',
  })
}
