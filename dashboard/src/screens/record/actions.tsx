import type { Transaction } from '@guiche/sdk'
import type { Explanation } from '../../../../src/explain/explain.ts'

/** What can be done about a record, as far as whoever is signed in may. */
export function RecordActions(_: {
  told: Pick<Explanation, 'id' | 'type' | 'status'>
  transaction: Transaction | undefined
}) {
  return null
}
