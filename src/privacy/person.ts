import { type By, recordAction } from '../audit/record.ts'
import { runWithoutTimeout } from '../db/long-work.ts'
import type { Db } from '../db/sql.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError } from '../lib/errors.ts'
import { keyedHash, keyedHashes, type SecretKey } from '../lib/secrets.ts'
import * as store from './store.ts'

type Deps = { db: Db; clock: Clock; key: SecretKey }

/**
 * The value that replaces an erased document: only someone with both the document and the key can find the record
 * again. A document that is erased already stays as it is.
 */
export function toErasedDocument(key: SecretKey, document: string): string {
  return document.startsWith('hash:') ? document : toHashed(keyedHash(key, 'person', document))
}

function toHashed(hash: Buffer): string {
  return `hash:${hash.toString('hex').slice(0, 32)}`
}

function toPerson(key: SecretKey, document: string): store.Person {
  return { document, hashes: keyedHashes(key, 'person', document).map(toHashed) }
}

async function findRecords({ db, key }: Pick<Deps, 'db' | 'key'>, document: string): Promise<store.PersonalRecords> {
  const person = toPerson(key, document)
  return await runWithoutTimeout(db, { readOnly: true }, async (tx) => await store.findPersonal(tx, person))
}

export type Erased = { person: string; transactions: number; withdrawals: number; unattributedPayments: number }

/**
 * All data about a person, for that person. The audit log records the export.
 *
 * @param document CPF or CNPJ, without punctuation
 */
export async function exportPerson(
  { db, clock, key }: Deps,
  { document, by }: { document: string; by: By },
): Promise<Record<string, unknown>> {
  const person = toErasedDocument(key, document)
  const records = await findRecords({ db, key }, document)
  return await db.transaction(async (tx) => {
    const kept = await store.exportPersonal(tx, records)
    await recordAction(tx, {
      by,
      action: 'customer.export',
      details: toDetails(person, records),
      now: clock.now(),
    })
    return { document, exportedAt: clock.now().toISOString(), ...kept }
  })
}

/**
 * Erases a person: identifying data becomes null, the document a keyed hash. Amounts, ids, histories and the ledger
 * stay. If it is repeated, the time of the erasure is set to the new one, and it is recorded again.
 *
 * @throws {AppError} `erasure_not_possible` while any record of the person is open
 */
export async function erasePerson(
  { db, clock, key }: Deps,
  { document, by }: { document: string; by: By },
): Promise<Erased> {
  const person = toErasedDocument(key, document)
  const records = await findRecords({ db, key }, document)
  const now = clock.now()
  await db.transaction(async (tx) => {
    const unfinished = await store.lockUnfinished(tx, records)
    if (unfinished.length > 0) throw stillOpen(unfinished)
    const ids = (some: store.PersonalRecord[]) => some.map(({ id }) => id)
    const customers = ids(records.transactions.filter((one) => one.is_customer))
    await store.eraseCustomers(tx, { ids: customers, hashes: customers.map(() => person), now })
    // Of all of them: a charge that had no payer when it was found may have been paid until the lock.
    await store.erasePayers(tx, { ids: ids(records.transactions), person: toPerson(key, document), now })
    await store.eraseSellers(tx, { ids: ids(records.transactions.filter((one) => one.is_seller)), now })
    await store.eraseDefences(tx, { ids: ids(records.transactions), now })
    const receivers = ids(records.withdrawals)
    await store.eraseReceivers(tx, { ids: receivers, hashes: receivers.map(() => person), now })
    await store.eraseSuspensePayers(tx, ids(records.suspense))
    await store.erasePersonFromEvents(tx, { recordIds: ids(records.transactions), field: 'payer' })
    await store.erasePersonFromEvents(tx, { recordIds: ids(records.withdrawals), field: 'receiver' })
    await recordAction(tx, { by, action: 'customer.erase', details: toDetails(person, records), now })
  })
  return toDetails(person, records)
}

function toDetails(person: string, { transactions, withdrawals, suspense }: store.PersonalRecords): Erased {
  return {
    person,
    transactions: transactions.length,
    withdrawals: withdrawals.length,
    unattributedPayments: suspense.length,
  }
}

/** How many open records an error names. */
const namedMax = 20

function stillOpen(ids: string[]): AppError {
  const named = ids.slice(0, namedMax).join(', ')
  const more = ids.length > namedMax ? ` and ${ids.length - namedMax} more` : ''
  return new AppError('erasure_not_possible', {
    fields: ids.slice(0, namedMax).map((recordId) => ({
      field: 'document',
      code: 'still_open',
      message: `has a record that is still open: ${recordId}`,
      recordId,
    })),
    detail: `Nothing was erased: a charge, refund, payout, dispute, unattributed payment or discrepancy of this person is still open (${named}${more}). Erase when these have ended: until then the data is needed.`,
  })
}
