import { type Db, empty, sql } from '../db/sql.ts'
import type { WithdrawalHold, WithdrawalStatus } from './status.ts'

export type OperatorRow = {
  id: string
  client_id: string
  status: WithdrawalStatus
  hold: WithdrawalHold | null
  amount: number
  fee_amount: number | null
  pix_key: string
  created_at: Date
}

/** The last withdrawals, newest first: of all clients or of one, all or those that wait for somebody. */
export async function listForOperator(
  db: Db,
  { merchantId, isHeld, limit }: { merchantId: string | null; isHeld: boolean; limit: number },
): Promise<OperatorRow[]> {
  return await db.query<OperatorRow>(sql`
    select id, client_id, status, hold, amount, fee_amount, pix_key, withdrawals.created_at
    from withdrawals join clients using (merchant_id)
    where true
      ${merchantId === null ? empty : sql`and merchant_id = ${merchantId}`}
      ${isHeld ? sql`and status = 'PENDING' and hold is not null` : empty}
    order by withdrawals.created_at desc, id desc limit ${limit}`)
}
