import type { BrakeRow } from '../ledger/store.ts'
import { atTime } from './words.ts'

/** Why nothing leaves, and what lets it. */
export function describeStop({ engaged_at: since, reason }: BrakeRow, now: Date): string {
  return `No money leaves since ${atTime(since, now)} (${reason}): it goes on after \`npx guiche ledger release\`.`
}
