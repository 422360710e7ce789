import { type ActionRow, listActions } from '../audit/store.ts'
import type { Db } from '../db/sql.ts'
import { type ExchangeRow, listExchanges } from '../exchanges/store.ts'
import { findPayoutFreeze, type PayoutFreezeRow } from '../ledger/store.ts'
import { findLinkOfTransaction, type LinkName } from '../links/store.ts'
import { toTxid } from '../pix/ids.ts'
import { type DeliveryRow, listDeliveries } from '../webhooks/read-store.ts'
import {
  type DisputeRecord,
  type DuplicateRecord,
  findTransactionRecord,
  findWithdrawalRecord,
  listCorrections,
  listDisputeRecords,
  listDuplicateRecords,
  listMerchantActors,
  listNoticeRecords,
  listRefundRecords,
  listSuspense,
  listTransferRecords,
  type NoticeRecord,
  type RefundRecord,
  type TransactionRecord,
  type TransferRecord,
  type WithdrawalRecord,
} from './store.ts'

/** All data that explains the status of a record. */
export type Facts<Record = TransactionRecord | WithdrawalRecord> = {
  record: Record
  refunds: RefundRecord[]
  disputes: DisputeRecord[]
  duplicates: DuplicateRecord[]
  transfers: TransferRecord[]
  /** The payment link by which a transaction was created. */
  link: LinkName | null
  /** The payments and returns that the acquirer's callbacks named. */
  notices: NoticeRecord[]
  exchanges: ExchangeRow[]
  /** In the order of their events. */
  deliveries: DeliveryRow[]
  actions: ActionRow[]
  /** The actors that are the merchant's own users. */
  merchantActors: string[]
  /** The payout freeze in force, if any. Its reason may name records of other merchants: not for merchant users. */
  payoutFreeze: PayoutFreezeRow | null
  /** False if the acquirer is no longer in the settings: then it cannot be queried. */
  isConfigured: boolean
  now: Date
}

/** Whether the settings have an acquirer of this name. */
export type IsConfigured = (acquirer: string) => boolean

/** An open record is checked every few minutes, so it may have days of exchanges. The last ones matter. */
const exchangesMax = 500
const actionsMax = 500
/**
 * Most records have fewer than ten events. Of a transaction with very many partial refunds, only the last deliveries
 * are read.
 */
const deliveriesMax = 100

/**
 * Leaves out what was done with a payment in suspense for other transactions: it may be attributed to several, one
 * after another, and may be sent back after that.
 *
 * @param duplicates the payments in suspense that are duplicates of this transaction's payment
 * @param listed in the order of recording
 */
function actionsAbout(id: string, duplicates: string[], listed: ActionRow[]): ActionRow[] {
  const attributed = new Map<string | null, unknown>()
  return listed.filter(({ action, record_id: payment, details }) => {
    if (!action.startsWith('suspense.')) return true
    if (action === 'suspense.return') return payment !== null && duplicates.includes(payment)
    if (action === 'suspense.undo') return attributed.get(payment) === id
    if (action === 'suspense.match') attributed.set(payment, details?.transactionId)
    return details?.transactionId === id
  })
}

/** Null if there is no transaction and no withdrawal with this id. */
export async function findFacts(
  { db, isConfigured = () => true }: { db: Db; isConfigured?: IsConfigured },
  id: string,
  now: Date,
): Promise<Facts | null> {
  const record = (await findTransactionRecord(db, id)) ?? (await findWithdrawalRecord(db, id))
  if (!record) return null
  const { merchant_id: merchantId, created_at: since, end_to_end: endToEnd } = record
  const acquirers = [record.acquirer, ...record.other_acquirers]
  const refunds = await listRefundRecords(db, { merchantId, id })
  const disputes = await listDisputeRecords(db, { merchantId, id })
  const recordIds = [id, ...refunds.map((refund) => refund.id), ...disputes.map((dispute) => dispute.id)]
  const corrections = await listCorrections(db, { merchantId, recordIds })
  const undone = refunds.flatMap((refund) => refund.suspense_payment_id ?? [])
  const suspense = await listSuspense(db, id)
  const suspenseIds = [...undone, ...suspense.map((payment) => payment.id)]
  const page = { page: 1, perPage: deliveriesMax, after: null }
  const deliveries = await listDeliveries(db, merchantId, { recordId: id }, page)
  const listed = await listActions(db, { recordIds: [...recordIds, ...corrections, ...suspenseIds], limit: actionsMax })
  const duplicates = suspense.flatMap((payment) => (payment.is_duplicate ? payment.id : []))
  const actions = actionsAbout(id, duplicates, listed)
  return {
    record,
    refunds,
    disputes,
    duplicates: await listDuplicateRecords(db, id),
    transfers: await listTransferRecords(db, { merchantId, recordIds: [...recordIds, ...corrections] }),
    link: record.type === 'transaction' ? await findLinkOfTransaction(db, { merchantId, id }) : null,
    notices: await listNoticeRecords(db, { acquirers, txid: toTxid(id), since }),
    exchanges: await listExchanges(db, { recordIds, endToEnd, limit: exchangesMax }),
    deliveries: deliveries.items.toSorted((left, right) => left.sequence - right.sequence),
    actions,
    merchantActors: await listMerchantActors(db, { merchantId, actors: actions.map(({ actor }) => actor) }),
    payoutFreeze: await findPayoutFreeze(db),
    isConfigured: isConfigured(record.acquirer),
    now,
  }
}
