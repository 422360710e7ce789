import type { Db } from '../db/sql.ts'
import { type LinkState, linkState } from './state.ts'
import { countLive, hasLinkCharge, insertLinkCharge, type LinkRow, lockLink } from './store.ts'

/**
 * Records a charge of a link before the acquirer is asked for it, under the idempotency key of its transaction. With a
 * stock, the charge reserves one unit of it: the link is locked, so two customers never get the last unit.
 *
 * Safe to repeat: while its reservation is valid, or once its transaction exists, a request is accepted again whatever
 * the state of the link, and reserves nothing more.
 */
export async function reserveCharge(
  db: Db,
  { link, key, now }: { link: LinkRow; key: string; now: Date },
): Promise<LinkState> {
  const { merchant_id: merchantId, id: linkId } = link
  return await db.transaction(async (tx) => {
    // Without a stock no customer waits for another.
    const row = link.stock === null ? link : await lockLink(tx, link)
    // After the lock, because the same request may just have reserved.
    if (await hasLinkCharge(tx, { merchantId, key, now })) return 'active'
    if (!row) return 'disabled'
    const live = row.stock === null ? 0 : await countLive(tx, row, now)
    const state = linkState({ ...row, live }, now)
    if (state === 'active') await insertLinkCharge(tx, { merchantId, linkId, key, now })
    return state
  })
}
