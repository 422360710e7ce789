import { isSamePerson } from '../audit/act.ts'
import type { Db } from '../db/sql.ts'
import { assert } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import type { AppError } from '../lib/errors.ts'
import { letGo } from './confirm.ts'
import { notHeld, notPending, notPossible, unknownWithdrawal } from './refusals.ts'
import { findOwner, lockWithdrawal, type WithdrawalRow } from './store.ts'

/**
 * The operator's yes to a withdrawal that is held, for whatever reason: it is sent. Two persons: not by the one who asked for it.
 *
 * @param by who approves, as the audit log names people
 * @throws {AppError} `not_found`, or `withdrawal_not_possible` when it is not held, or asked for by the same person
 */
export async function approveWithdrawal(
  deps: { db: Db; clock: Clock },
  { id, by }: { id: string; by: string },
): Promise<WithdrawalRow> {
  return await deps.db.transaction(async (tx) => {
    const owner = await findOwner(tx, id)
    if (!owner) throw unknownWithdrawal()
    const row = await lockWithdrawal(tx, owner.merchant_id, id)
    assert(row, 'a withdrawal that has an owner is there')
    if (row.status !== 'PENDING') throw notPending(row.status)
    if (row.hold === null) throw notHeld('is not there: this withdrawal waits for nobody')
    if (row.requested_by !== null && isSamePerson(row.requested_by, by)) throw askedForByThemselves()
    return await letGo(tx, row, deps.clock.now())
  })
}

function askedForByThemselves(): AppError {
  return notPossible({
    field: 'approval',
    code: 'same_person',
    message: 'is for somebody else to give: whoever asked for a withdrawal does not approve it',
  })
}
