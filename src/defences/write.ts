import { createHash } from 'node:crypto'
import type { Acquirers } from '../acquirers/registry.ts'
import { type By, recordAction } from '../audit/record.ts'
import type { Db, Tx } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { type AppError, type FieldError, invalidField } from '../lib/errors.ts'
import {
  assertEditable,
  assertRead,
  type Case,
  type DisputeKey,
  lockCase,
  newDefence,
  notFound,
  readCase,
  toDefenceView,
} from './case.ts'
import { detectFileType, toFileName } from './file-type.ts'
import { type DefenceInput, type DefenceView, fileBytesMax, filesMax, totalBytesMax } from './schema.ts'
import { deleteFile, insertFile, saveDefence } from './store.ts'

export type WriteDeps = { db: Db; clock: Clock; acquirers: Acquirers }

export async function showDefence({ db, acquirers }: WriteDeps, key: DisputeKey): Promise<DefenceView> {
  return toDefenceView(acquirers, await readCase(db, key))
}

/** Changes a dispute's defence in one commit, under the lock of its transaction. Returns the changed defence. */
export async function changeDefence(
  deps: WriteDeps,
  key: DisputeKey,
  change: (tx: Tx, found: Case, now: Date) => Promise<void>,
): Promise<DefenceView> {
  await deps.db.transaction(async (tx) => {
    const now = deps.clock.now()
    await change(tx, await lockCase(tx, key), now)
  })
  return await showDefence(deps, key)
}

/**
 * Saves text and proof of delivery of a defence that is not sent yet.
 *
 * @throws {AppError} `defence_not_possible` with the reason
 */
export async function writeDefence(
  deps: WriteDeps,
  key: DisputeKey,
  { input, by }: { input: DefenceInput; by: By },
): Promise<DefenceView> {
  return await changeDefence(deps, key, async (tx, found, now) => {
    assertEditable(found)
    assertRead(found, input)
    const defence = found.defence ?? newDefence(found.dispute, now)
    const { text, delivery } = input
    await saveDefence(tx, { ...defence, text, delivery, revision: defence.revision + 1, changed_at: now })
    await recordAction(tx, { by, action: 'infraction.write_defence', ...about(found), now })
  })
}

/**
 * Adds a file that proves the delivery. The caller chooses its id, so that a repeated upload adds it once.
 *
 * @throws {AppError} `validation_failed` if it is empty, too large, one too many, of another type by its content, or
 *   has the id of another file; `defence_not_possible` once the defence is sent or the dispute has ended
 */
export async function addFile(
  deps: WriteDeps,
  key: DisputeKey,
  { id, name, content, by }: { id: string; name: string; content: Buffer; by: By },
): Promise<DefenceView> {
  if (content.length === 0) throw refuseFile('required', 'is empty')
  if (content.length > fileBytesMax) throw fileTooLarge()
  const type = detectFileType(content)
  if (type === null) throw refuseFile('invalid_format', 'must be a PDF, PNG, JPEG, WebP or plain text file')
  const row = { id, name: toFileName(name, type), type, size: content.length, content }
  return await changeDefence(deps, key, async (tx, found, now) => {
    assertEditable(found)
    const sha256 = createHash('sha256').update(content).digest()
    const known = found.files.find((file) => file.id === id)
    if (known?.sha256.equals(sha256)) return
    if (known) throw refuseFile('duplicate', 'has the id of another file')
    const total = found.files.reduce((sum, { size }) => sum + size, content.length)
    if (found.files.length >= filesMax)
      throw refuseFile('too_many', `is one too many: a defence has at most ${filesMax} files`, { limit: filesMax })
    if (total > totalBytesMax)
      throw refuseFile('too_large', `is too large: all files together may have at most ${totalBytesMax} bytes`, {
        ...{ limit: totalBytesMax, unit: 'bytes' },
      })
    const { merchant_id, id: dispute_id } = found.dispute
    if (!(await insertFile(tx, { ...row, merchant_id, dispute_id, sha256, added_at: now })))
      throw refuseFile('duplicate', 'has the id of another file')
    const details = { disputeId: dispute_id, fileId: id }
    await recordAction(tx, { by, action: 'infraction.add_file', ...about(found), details, now })
  })
}

/** @throws {AppError} `not_found`, or `defence_not_possible` once the defence is sent or the dispute has ended */
export async function removeFile(
  deps: WriteDeps,
  key: DisputeKey,
  { id, by }: { id: string; by: By },
): Promise<DefenceView> {
  return await changeDefence(deps, key, async (tx, found, now) => {
    assertEditable(found)
    const { merchant_id, id: dispute_id } = found.dispute
    if (!(await deleteFile(tx, { merchant_id, dispute_id }, id))) throw notFound()
    const details = { disputeId: dispute_id, fileId: id }
    await recordAction(tx, { by, action: 'infraction.remove_file', ...about(found), details, now })
  })
}

/** What an entry of the audit log about a defence names. */
export function about({ dispute }: Case) {
  const { merchant_id: merchantId, transaction_id: recordId, id: disputeId } = dispute
  return { merchantId, recordId, details: { disputeId } }
}

export function fileTooLarge(): AppError {
  const message = `is too large: a file may have at most ${fileBytesMax} bytes`
  return refuseFile('too_large', message, { limit: fileBytesMax, unit: 'bytes' })
}

function refuseFile(
  code: FieldError['code'],
  message: string,
  more: Pick<FieldError, 'limit' | 'unit'> = {},
): AppError {
  return invalidField('file', code, message, more)
}
