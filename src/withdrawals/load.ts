import type { Db } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import type { RecordMoment } from '../webhooks/payload.ts'
import { atSnapshot } from './change.ts'
import type { WithdrawalWire } from './schema.ts'
import { findWithdrawals } from './store.ts'
import { toWithdrawalView } from './view.ts'

/** What GET returned for each withdrawal at the moment of its event: the `data` of a webhook. */
export async function loadWithdrawalMoments(db: Db, moments: RecordMoment[]): Promise<WithdrawalWire[]> {
  const rows = new Map((await findWithdrawals(db, moments)).map((row) => [row.id, row]))
  return moments.map(({ recordId, snapshot }) => {
    const row = rows.get(recordId)
    assert(row, 'the withdrawal of an event exists')
    return toWithdrawalView(atSnapshot(row, snapshot))
  })
}
