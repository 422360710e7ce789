import { createHash } from 'node:crypto'
import type { Acquirer } from '../acquirers/acquirer.ts'
import type { By } from '../audit/record.ts'
import { findAuditHead } from '../audit/store.ts'
import { runWithoutTimeout } from '../db/long-work.ts'
import type { Db, Tx } from '../db/sql.ts'
import { dayBefore, isDay, windowOf } from '../lib/brasilia.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError, type FieldErrorCode } from '../lib/errors.ts'
import { canonicalJson } from '../lib/json.ts'
import type { SecretKey } from '../lib/secrets.ts'
import {
  findDatabaseTime,
  findStatement,
  hashTransfers,
  insertStatement,
  lockClosing,
  type StatementRow,
  sumDated,
  sumMoved,
} from './close-store.ts'
import { type ReconcileDeps, type RunResult, reconcile } from './run.ts'
import { signStatement } from './sign.ts'
import { type Amount, type Content, changesSince, type Statement, toContent } from './statement.ts'
import { listDiscrepanciesOf } from './store.ts'

export type CloseDeps = ReconcileDeps & { key: SecretKey }

/**
 * A transfer of the day may be committed a little after midnight, or by a machine whose clock is behind: until this
 * long after the day the statement has no hash of the transfers. It is far longer than any posting takes.
 */
const recordingMs = 15 * 60_000

export type Closed =
  | {
      state: 'closed'
      statement: Statement
      jws: string
      sha256: string
      /** False when nothing has changed since the previous version: no version was added. */
      isNew: boolean
    }
  /** Not all of the acquirer's lists could be read: nothing was closed. */
  | { state: 'interrupted'; error: string }

/**
 * Closes a day of an acquirer, in Brasília time: compares it, and signs the totals of both sides. If the day was closed
 * before and anything has changed since, it gets a new version that names the previous one; old versions are kept.
 *
 * @throws {AppError} `validation_failed` for an invalid date, or a day that is not over
 */
export async function closeDay(
  deps: CloseDeps,
  {
    acquirer,
    day,
    keepsTransfers = false,
    stopping,
    ...more
  }: {
    acquirer: Acquirer
    day: string
    /** Signs the hash of the previous version again: only a person accepts a change of the transfers since. */
    keepsTransfers?: boolean
    runId?: string
    by?: By
    stopping?: AbortSignal
  },
): Promise<Closed> {
  assertDayIsOver(day, await findClosingTime(deps))
  const window = windowOf(day)
  const seen = await findStatement(deps.db, { acquirer: acquirer.name, day })
  const run = await reconcile(deps, { acquirer, kind: 'daily', window, ...more, ...(stopping && { stopping }) })
  if (run.state === 'interrupted') return { state: 'interrupted', error: run.error ?? 'it was interrupted' }
  const described = await runWithoutTimeout(
    deps.db,
    { stopping, readOnly: true },
    async (tx) => await describe(tx, { day, run, keepsTransfers, now: await findClosingTime({ ...deps, db: tx }) }),
  )
  const closed = await deps.db.transaction(async (tx) => {
    await lockClosing(tx, acquirer.name)
    return await sign(tx, deps, { ...described, run, seen })
  })
  // What this run has read may be older than the version that another process has signed meanwhile.
  if (closed) return closed
  return await closeDay(deps, { acquirer, day, keepsTransfers, runId: run.runId, ...(stopping && { stopping }) })
}

/** The earlier of this machine's time and PostgreSQL's: a day that is not over by one of them is not closed. */
export async function findClosingTime({ db, clock }: { db: Db | Tx; clock: Clock }): Promise<Date> {
  const own = clock.now()
  const ofDatabase = await findDatabaseTime(db, own.getTime() - Date.now())
  return ofDatabase < own ? ofDatabase : own
}

/** @throws {AppError} `validation_failed` for an invalid date, or a day that is not over */
export function assertDayIsOver(day: string, now: Date): void {
  const invalid = (code: FieldErrorCode, message: string) =>
    new AppError('validation_failed', { detail: `${day} ${message}.`, fields: [{ field: 'day', code, message }] })
  if (!isDay(day)) throw invalid('invalid_format', 'is not a date. Write it as 2026-11-20')
  const { to } = windowOf(day)
  const from = `it can be closed from ${to.toISOString()} on, by the clocks of this machine and of PostgreSQL`
  if (to > now) throw invalid('not_over', `is not over in Brasília: ${from}`)
}

/** `dayBefore`: the statement whose closing balances are the opening balances of the content. */
type Described = { content: Content; dayBefore: StatementRow | null }

async function describe(
  tx: Tx,
  { day, run, keepsTransfers, now }: { day: string; run: RunResult; keepsTransfers: boolean; now: Date },
): Promise<Described> {
  const { acquirer, window, foundIds, totals } = run
  const beforeRow = await findStatement(tx, { acquirer, day: dayBefore(day) })
  const before = beforeRow && readStatement(beforeRow)
  // Without a closed day before, all earlier transfers are added up, once.
  const ledgerClosing =
    before?.ledgerSide.closing ??
    (await sumMoved(tx, { acquirer, from: null, to: window.from })).reduce((sum, { change }) => sum + change, 0)
  // No API reports the balance of an earlier moment: at the first close the ledger's balance is used.
  const opening = { ledger: ledgerClosing, acquirer: before?.acquirerSide.closing ?? ledgerClosing }
  const moved = await sumMoved(tx, { acquirer, ...window })
  const dated = await sumDated(tx, { acquirer, ...window, since: window.to })
  const former = keepsTransfers ? await findStatement(tx, { acquirer, day }) : null
  const isRecording = now.getTime() - window.to.getTime() < recordingMs
  const transfers =
    (former && readStatement(former).transfers) ?? (isRecording ? null : await hashTransfers(tx, window))
  const differences = await listDiscrepanciesOf(tx, { acquirer, ids: foundIds, ...window })
  const content = toContent({ acquirer, day, window, moved, opening, totals, dated, transfers, differences })
  return { content, dayBefore: beforeRow }
}

/** Null if the day has got another version since `seen`, with different content. */
async function sign(
  tx: Tx,
  { clock, key }: CloseDeps,
  { content, dayBefore, run, seen }: Described & { run: RunResult; seen: StatementRow | null },
): Promise<Closed | null> {
  const { acquirer, day } = content
  const former = await findStatement(tx, { acquirer, day })
  const earlier = former && readStatement(former)
  if (former && earlier && hasSameContent(earlier, content))
    return { state: 'closed', statement: earlier, jws: former.statement, sha256: former.sha256, isNew: false }
  if (former?.version !== seen?.version) return null
  const now = await findClosingTime({ db: tx, clock })
  const statement: Statement = {
    ...content,
    version: (former?.version ?? 0) + 1,
    signedAt: now.toISOString(),
    former: former && { version: former.version, sha256: former.sha256 },
    dayBefore: dayBefore && { day: dayBefore.day, version: dayBefore.version, sha256: dayBefore.sha256 },
    changes: former && earlier && changesSince(earlier, content, await findPostedSince(tx, run, former)),
    audit: await findAuditHead(tx),
  }
  const jws = await signStatement(tx, { clock, key }, statement)
  const sha256 = createHash('sha256').update(jws).digest('hex')
  const { version } = statement
  await insertStatement(tx, { acquirer, day, version, signed_at: now, statement: jws, sha256, runId: run.runId })
  return { state: 'closed', statement, jws, sha256, isNew: true }
}

async function findPostedSince(tx: Tx, { acquirer, window }: RunResult, former: StatementRow): Promise<Amount> {
  const { lateCount, lateSum } = await sumDated(tx, { acquirer, ...window, since: former.signed_at })
  return { count: lateCount, sum: lateSum }
}

/** The content of our own statement from the database, without verifying its signature. */
export function readStatement({ statement }: Pick<StatementRow, 'statement'>): Statement {
  const [, payload = ''] = statement.split('.')
  return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
}

function hasSameContent(former: Statement, content: Content): boolean {
  const { version: _v, signedAt: _s, former: _f, dayBefore: _d, changes: _c, audit: _a, ...earlier } = former
  return canonicalJson(earlier) === canonicalJson(content)
}
