import type { Db } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import type { RecordVersion } from '../webhooks/payload.ts'
import { versionAt } from './change.ts'
import type { WithdrawalResponse } from './schema.ts'
import { findWithdrawals } from './store.ts'
import { toWithdrawalView } from './view.ts'

/** What GET returned for each withdrawal at the moment of its event: the `data` of a webhook. */
export async function loadWithdrawalVersions(db: Db, versions: RecordVersion[]): Promise<WithdrawalResponse[]> {
  const rows = new Map((await findWithdrawals(db, versions)).map((row) => [row.id, row]))
  return versions.map(({ recordId, snapshot }) => {
    const row = rows.get(recordId)
    assert(row, 'the withdrawal of an event exists')
    return toWithdrawalView(versionAt(row, snapshot))
  })
}
