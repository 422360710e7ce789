import type { Reads } from '../db/sql.ts'
import { compare } from '../lib/compare.ts'
import {
  type DeliveryItem,
  type DeliveryPosition,
  findDeliveries,
  findLastPosition,
  type MatchingDeliveries,
  pageMax,
  sourcesOf,
} from './delivery-list-store.ts'
import { readCursor } from './list.ts'

/**
 * One page of deliveries, the latest first, with the cursors of its neighbours. A page reads a limited number of them:
 * for a filter that few match, it may be short, and says until when it has searched. `next` continues there.
 */
export async function readDeliveries(
  db: Reads,
  matching: MatchingDeliveries,
  { after, before }: { after?: string; before?: string },
) {
  const cursor = readCursor(after, false) ?? readCursor(before, true)
  const sign = cursor?.isBefore ? -1 : 1
  const inOrder = (one: DeliveryPosition, other: DeliveryPosition) =>
    sign * (other.at.getTime() - one.at.getTime() || compare(other.positionId, one.positionId))
  const found: DeliveryItem[] = []
  const ends: DeliveryPosition[] = []
  for (const source of sourcesOf(matching)) {
    const rows = await findDeliveries(db, matching, source, cursor)
    found.push(...rows)
    const end = rows.length < pageMax ? await findLastPosition(db, matching, source, cursor) : null
    if (end) ends.push(end)
  }
  // Beyond it, one of the sources may have more.
  const [searched] = ends.sort(inOrder)
  const known = found.sort(inOrder).filter((row) => !searched || inOrder(row, searched) <= 0)
  const items = known.slice(0, pageMax - 1)
  const isFull = known.length >= pageMax
  const far = isFull ? items.at(-1) : searched
  if (cursor?.isBefore) items.reverse()
  const near = cursor && items.length > 0 ? (cursor.isBefore ? items.at(-1) : items[0]) : undefined
  return {
    next: write(cursor?.isBefore ? near : far),
    previous: write(cursor?.isBefore ? far : near),
    searchedUntil: isFull ? null : (searched?.at ?? null),
    items,
  }
}

function write(position: DeliveryPosition | undefined): string | null {
  return position ? `${position.at.getTime()}_${position.positionId}` : null
}
