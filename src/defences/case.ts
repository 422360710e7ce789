import type { Acquirers } from '../acquirers/registry.ts'
import type { Db, Tx } from '../db/sql.ts'
import { AppError, refusal } from '../lib/errors.ts'
import { type DisputeRow, listDisputesOf } from '../transactions/dispute/store.ts'
import { lockTransaction } from '../transactions/store.ts'
import { type DefenceView, fileBytesMax, filesMax, noProofOfDelivery, textMax, totalBytesMax } from './schema.ts'
import { isEditable } from './status.ts'
import { type DefenceRow, type FileRow, findDefence, listFiles } from './store.ts'

/** Names a dispute. The caller has checked that the user may see the merchant's records. */
export type DisputeKey = { merchantId: string; transactionId: string; disputeId: string }

/** A dispute with what its merchant says about it. */
export type Case = { dispute: DisputeRow; defence: DefenceRow | null; files: FileRow[] }

/**
 * A defence changes under the lock of the transaction, as its dispute does: a dispute that ends waits for the change,
 * or the change sees that it has ended.
 */
export async function lockCase(tx: Tx, key: DisputeKey): Promise<Case> {
  const row = await lockTransaction(tx, key.merchantId, key.transactionId)
  if (!row) throw notFound()
  return await readCase(tx, key)
}

export async function readCase(db: Db | Tx, { merchantId, transactionId, disputeId }: DisputeKey): Promise<Case> {
  const disputes = await listDisputesOf(db, { merchant_id: merchantId, id: transactionId })
  const dispute = disputes.find(({ id }) => id === disputeId)
  if (!dispute) throw notFound()
  const key = { merchant_id: merchantId, dispute_id: disputeId }
  return { dispute, defence: await findDefence(db, key), files: await listFiles(db, key) }
}

/** @throws {AppError} `defence_not_possible` once it is sent or the dispute has ended */
export function assertEditable({ dispute, defence }: Case): void {
  if (defence && !isEditable(defence.state))
    throw refuse('already_sent', 'The defence was sent. Nothing can be changed any more.')
  assertOpen(dispute)
}

export function assertOpen({ state }: DisputeRow): void {
  if (state !== 'open') throw refuse('not_open', `The dispute is decided: it is ${state}.`)
}

/** @throws {AppError} `defence_not_possible` if the person has read something else than what is stored */
export function assertRead(
  { defence, files }: Case,
  { revision, fileIds }: { revision: number; fileIds?: string[] },
): void {
  const stored = new Set(files.map(({ id }) => id))
  const isSameFiles = fileIds === undefined || (fileIds.length === stored.size && fileIds.every((id) => stored.has(id)))
  if ((defence?.revision ?? 0) !== revision || !isSameFiles)
    throw refuse('changed', 'Somebody has changed the defence meanwhile. Reload it and look at it again.')
}

/** A defence before anything was written. */
export function newDefence({ merchant_id, id }: DisputeRow, now: Date): DefenceRow {
  return {
    ...{ merchant_id, dispute_id: id, state: 'draft', revision: 0, text: '', delivery: noProofOfDelivery },
    ...{ submission_id: null, requested_at: null, answered_at: null, reference: null, refusal: null },
    ...{ changed_at: now, erased_at: null },
  }
}

/** Whether the API of the dispute's PSP takes a defence of it. */
export function canSend(acquirers: Acquirers, { acquirer, acquirer_reference }: DisputeRow): boolean {
  return acquirer_reference !== null && Boolean(acquirers.get(acquirer)?.disputes?.defend)
}

export function toDefenceView(acquirers: Acquirers, one: Case): DefenceView {
  const { dispute, defence, files } = one
  const isOpen = dispute.state === 'open' && (defence === null || isEditable(defence.state))
  return {
    disputeId: dispute.id,
    canSend: canSend(acquirers, dispute),
    isOpen,
    written: defence && {
      ...{ state: defence.state, revision: defence.revision, text: defence.text, delivery: defence.delivery },
      requestedAt: defence.requested_at?.toISOString() ?? null,
      answeredAt: defence.answered_at?.toISOString() ?? null,
      ...{ reference: defence.reference, refusal: defence.refusal },
      ...{ changedAt: defence.changed_at.toISOString(), isErased: defence.erased_at !== null },
    },
    files: files.map((file) => ({
      ...{ id: file.id, name: file.name, type: file.type, size: file.size, isErased: file.is_erased },
      ...{ sha256: file.sha256.toString('hex'), addedAt: file.added_at.toISOString() },
    })),
    limits: { text: textMax, files: filesMax, fileBytes: fileBytesMax, totalBytes: totalBytesMax },
  }
}

export const refuse = refusal.bind(null, 'defence_not_possible')

export function notFound(): AppError {
  return new AppError('not_found', { detail: 'There is no dispute or file with this id.' })
}
