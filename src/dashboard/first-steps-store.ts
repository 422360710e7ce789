import { type Db, empty, type Reads, sql } from '../db/sql.ts'
import type { MerchantFilter } from './overview-store.ts'

/** Which of the first steps of a new installation or merchant are done. */
export type StepsDone = {
  merchant: boolean
  charge: boolean
  payment: boolean
  receiver: boolean
  delivery: boolean
  withdrawal: boolean
  colleague: boolean
}

/** No index finds the deliveries that arrived, so only this many are read. */
const deliveriesRead = 1_000

export async function findStepsDone(db: Reads, { merchantId }: MerchantFilter): Promise<StepsDone> {
  const ofMerchant = merchantId === null ? empty : sql`and merchant_id = ${merchantId}`
  const [row] = await db.query<StepsDone>(sql`
    select exists (select from clients) as merchant,
      exists (select from transactions where true ${ofMerchant}) as charge,
      exists (select from transactions where end_to_end is not null ${ofMerchant}) as payment,
      exists (select from webhook_endpoints where deleted_at is null ${ofMerchant})
        or exists (select from webhook_deliveries where true ${ofMerchant}) as receiver,
      exists (select from (select state from webhook_deliveries where true ${ofMerchant} limit ${deliveriesRead}) deliveries
        where state = 'delivered') as delivery,
      exists (select from withdrawals where true ${ofMerchant}) as withdrawal,
      (select count(*) > 1 from users where disabled_at is null and merchant_id is not distinct from ${merchantId}::uuid)
        as colleague`)
  return (
    row ?? {
      ...{ merchant: false, charge: false, payment: false, receiver: false },
      ...{ delivery: false, withdrawal: false, colleague: false },
    }
  )
}

export async function isDismissed(db: Reads, userId: string): Promise<boolean> {
  const rows = await db.query(sql`select from users where id = ${userId} and first_steps_dismissed_at is not null`)
  return rows.length > 0
}

export async function setDismissed(db: Db, userId: string, at: Date | null): Promise<void> {
  await db.query(sql`update users set first_steps_dismissed_at = ${at} where id = ${userId}`)
}
