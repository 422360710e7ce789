import type { AppError } from '../lib/errors.ts'
import { type Sql, sql, type Tx } from './sql.ts'

/** The secrets of one owner: their table and a condition on its rows. The caller has locked the merchant's client. */
export type Secrets = { table: Sql; owner: Sql; merchantId: string }

/**
 * Ends an owner's secrets before its next one is inserted: the current one at `until`, and any older one now, so that
 * two at most are valid.
 *
 * @param id of the next secret. If the current secret has this id already, its rotation is repeated because the answer
 * was lost. Nobody has that secret, so it ends now instead of the one before it, and gets another id.
 * @returns when the former secret ends; `now` if none is valid
 * @throws the given error if another secret of the merchant has this id: a former one, because somebody has rotated
 * since, or one of another owner
 */
export async function endSecrets(
  tx: Tx,
  {
    table,
    owner,
    merchantId,
    id,
    now,
    until,
    refused,
  }: Secrets & { id: string; now: Date; until: Date; refused: AppError },
): Promise<Date> {
  const repeated = await tx.query(sql`
    update ${table} set expires_at = ${now}, id = gen_random_uuid()
    where ${owner} and id = ${id} and expires_at is null
    returning id`)
  const isRepeat = repeated.length > 0
  const known = await tx.query(sql`select from ${table} where merchant_id = ${merchantId} and id = ${id}`)
  if (known.length > 0) throw refused
  const ends = await tx.query<{ at: Date }>(sql`
    update ${table}
    set expires_at = case
      when expires_at is null or ${isRepeat} then least(expires_at, ${until}::timestamptz)
      else ${now}::timestamptz
    end
    where ${owner} and (expires_at is null or expires_at > ${now})
    returning expires_at as at`)
  return new Date(Math.max(now.getTime(), ...ends.map(({ at }) => at.getTime())))
}
