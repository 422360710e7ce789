import type { FastifyRequest } from 'fastify'
import { type Action, recordedDb } from '../audit/record.ts'
import type { Db } from '../db/sql.ts'
import { userOf } from '../http/caller.ts'
import type { Clock } from '../lib/clock.ts'

/** The database for what a person does, which is then in the audit log, in its own commit. */
export function actingDb(
  { db, clock }: { db: Db; clock: Clock },
  request: FastifyRequest,
  action: Omit<Action, 'actor' | 'now'>,
): Db {
  return recordedDb(db, { ...action, actor: `user:${userOf(request).email}`, now: clock.now() })
}
