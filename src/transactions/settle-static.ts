import { createHash } from 'node:crypto'
import type { Acquirer, Payment } from '../acquirers/acquirer.ts'
import { amountMax } from '../http/schemas.ts'
import { newIdIn } from '../lib/cell.ts'
import { findLinkByTxid, insertLinkCharge, type LinkRow } from '../links/store.ts'
import { insertWithEvents } from './insert.ts'
import { recordPayments, type SettleDeps } from './settle.ts'
import type { NewTransaction } from './store.ts'
import { recordingLock } from './suspend.ts'

/**
 * Records a confirmed payment that names the static code of a payment link: in one commit it becomes a PAID transaction
 * of the link's merchant, with history, event, fee and ledger entries. Safe to repeat, and in any number of processes
 * at once: the transaction's id is derived from the payment. Returns null for a payment that names no static code, that
 * is larger than a transaction can be, or that an operator has attributed or sent back.
 *
 * A link that has been disabled meanwhile also gets the payment: its code may be printed somewhere, and the money has
 * already arrived.
 */
export async function settleStatic(
  deps: Pick<SettleDeps, 'db' | 'clock' | 'acquirers' | 'wakeDeliveries'>,
  { acquirer, payment }: { acquirer: Acquirer; payment: Payment },
): Promise<{ merchantId: string; id: string } | null> {
  const link = payment.txid === null ? null : await findLinkByTxid(deps.db, payment.txid)
  if (link?.static_uri == null || payment.amount > amountMax) return null
  const now = deps.clock.now()
  const key = `static:${acquirer.name}:${payment.endToEndId}`
  const row = toRow(
    { ...link, static_uri: link.static_uri },
    { acquirer, payment, key, now, cell: deps.acquirers.cell },
  )
  const owner = { merchantId: link.merchant_id, id: row.id }
  try {
    await deps.db.transaction(async (tx) => {
      // If two processes record the same payment at once, the second waits here for the first.
      await insertWithEvents(tx, [row])
      await insertLinkCharge(tx, { merchantId: link.merchant_id, linkId: link.id, key, now })
      const [recorded] = await recordPayments(tx, [{ ...owner, acquirer, payment, charge: null }], now)
      // An operator has attributed it to another transaction, or sent it back.
      if (recorded !== 'settled' && recorded !== 'already') throw new NotRecorded()
    }, recordingLock)
  } catch (error) {
    if (error instanceof NotRecorded) return null
    throw error
  }
  deps.wakeDeliveries()
  return owner
}

/** Thrown to roll back the database transaction. */
class NotRecorded extends Error {}

type Arrival = { acquirer: Acquirer; payment: Payment; key: string; now: Date; cell: string | null }

/**
 * How long ago a transaction may have been created when it is recorded: less than after which the names of its time are
 * counted (list/names.ts).
 */
const recordedWithinMs = 60_000

function toRow(link: LinkRow & { static_uri: string }, { acquirer, payment, key, now, cell }: Arrival): NewTransaction {
  const ageMs = now.getTime() - payment.paidAt.getTime()
  const createdAt = ageMs >= 0 && ageMs < recordedWithinMs ? payment.paidAt : now
  return {
    id: newIdIn(cell, createHash('sha256').update(key).digest()),
    merchant_id: link.merchant_id,
    acquirer: acquirer.name,
    other_acquirers: [],
    amount: payment.amount,
    idempotency_key: key,
    external_code: null,
    webhook_url: link.webhook_url,
    return_url: null,
    is_info_product: true,
    customer: null,
    seller: null,
    address: null,
    items: null,
    description: link.title,
    metadata: { paymentLinkId: link.id },
    // The static code never expires, but a transaction needs a value. It has no effect: this one is PAID in this
    // commit.
    pix_expiration_seconds: 86_400,
    created_at: createdAt,
    customer_search_name: null,
    customer_search_email: null,
    customer_document: null,
    customer_landline_digits: null,
    customer_mobile_digits: null,
    pix_uri: link.static_uri,
    pix_expires_at: new Date(createdAt.getTime() + 86_400_000),
    statuses: ['PENDING', 'PIX_QRCODE_GENERATED'],
    status_dates: [createdAt, createdAt],
    error_message: null,
    check_at: null,
  }
}
