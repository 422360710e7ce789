import { mkdir, open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { byService } from './audit/record.ts'
import { hasCode } from './db/embedded-process.ts'
import { type Db, isDatabaseUnavailable, onNewConnection, type Tx } from './db/sql.ts'
import { DatabaseUnavailable } from './db/watched-pool.ts'
import {
  advanceMark,
  claimLoss,
  findMark,
  findTimeline,
  hasLostOne,
  insertTimeline,
  lockMark,
  type MarkRow,
  saveCounter,
  type Timeline,
} from './ledger/mark-store.ts'
import { freezePayoutsAlso, writeLossReason } from './ledger/payout-freeze.ts'
import type { Clock } from './lib/clock.ts'
import { createPolling } from './lib/polling.ts'
import { enqueueRun } from './reconciliation/requested-run.ts'
import { readListsAgain } from './transactions/cursor-store.ts'
import { reviewAfterLostCommits } from './withdrawals/store.ts'

/** How often the counter grows: the last second of commits of a process that has ended may be lost unnoticed. */
const markEveryMs = 1_000
/** The lists are read again from this long before the last mark: a payment may be recorded long after its own time. */
const marginMs = 10 * 60_000
/** The comparison waits until the lists were read again: what they settle is no discrepancy. */
const compareAfterMs = 10 * 60_000
/** Added to the counter after a loss: it then exceeds what any process remembers, so that one loss is reported once. */
const leap = 1_000

/** What is known outside the database: a process remembers it, and a file survives the process. */
type Known = { databaseId: string; counter: number }

const KnownFile = Type.Object({ databaseId: Type.String(), counter: Type.Integer() })

type Deps = {
  db: Db
  clock: Clock
  log: Logger
  registry: Registry
  acquirers: { all: readonly { name: string }[] }
  dataDir: string
}

/**
 * Notices that the database lost what it had committed: an older copy was restored, or a standby that had not received
 * everything became the primary.
 *
 * The database has a counter that grows in each second in which something is written. Each process remembers the
 * highest value that it has seen, and keeps it in a file in DATA_DIR. It also remembers its newest transactions that
 * were acknowledged. If a new connection finds a lower counter, or one of these transactions is not committed, payouts
 * are frozen before that connection is used: the database no longer knows which money has left. The acquirers' lists
 * are then read again from before the loss.
 *
 * A lost transaction's number is used again by the next one, so the first process that sees a new timeline records the
 * next number before it writes anything else.
 */
export async function keepDatabaseMark(deps: Deps): Promise<{ stop(): Promise<void> }> {
  const { db, log } = deps
  const path = join(deps.dataDir, 'database-mark.json')
  const losses = new Counter({
    name: 'guiche_database_commits_lost_total',
    help: 'How often the database was found to be older than what it had committed',
    registers: [deps.registry],
  })
  let known = await readKnown(path, log)
  let lastTimeline: Timeline | null = null
  const hasTimelines = await canFindTimeline(db, log)
  let hasWarned = false
  const warnOnce = ({ message }: Error) => {
    if (!hasWarned) log.warn({ reason: message }, 'DATA_DIR is not writable: a restart does not notice lost commits')
    hasWarned = true
  }

  await compare(db)
  await mark()
  onNewConnection(db, compare)
  const polling = createPolling({
    isNeeded: () => true,
    poll: mark,
    onError: (error) => log.debug({ reason: (error as Error).message }, 'no mark was set'),
    pauseMs: (tookMs) => Math.max(0, markEveryMs - tookMs),
  })
  polling.begin()
  return { stop: polling.stop }

  async function compare(connection: Db): Promise<void> {
    const timeline = await followTimeline(connection)
    const expected = known
    const xids = db.recentXids.slice()
    const row = await findMark(connection)
    const isCounterLower = expected !== null && isOlder(row, expected)
    const hasLost =
      timeline !== null && lastTimeline !== null && (await isBehind(connection, { xids, lastTimeline, timeline }))
    if (isCounterLower || hasLost) {
      await report(connection, { expected, timeline })
      // Another connection that was opened at the same time may have removed them already.
      if (db.recentXids[0] === xids[0]) db.recentXids.splice(0, xids.length)
    }
    lastTimeline = timeline
  }

  async function report(
    connection: Db,
    { expected, timeline }: { expected: Known | null; timeline: Timeline | null },
  ): Promise<void> {
    const lastMarkAt = await connection.transaction(async (tx) => {
      const locked = await lockMark(tx)
      const isFirst = timeline !== null && (await claimLoss(tx, timeline, deps.clock.now()))
      // Another process has reported it.
      if (!isFirst && !(expected !== null && isOlder(locked, expected))) return null
      const counter = Math.max(locked.counter, expected?.counter ?? 0) + leap
      await recover(deps, tx, { counter, lastMarkAt: locked.marked_at })
      return locked.marked_at
    })
    if (lastMarkAt === null) return
    losses.inc()
    log.error({ lastMarkAt }, 'the database went back in time: payouts are frozen, and the lists are read again')
  }

  /** Null if the server reports none. */
  async function followTimeline(connection: Db): Promise<Timeline | null> {
    if (!hasTimelines) return null
    const timeline = await findTimeline(connection)
    // It may become the primary while the connection is open, and would then be used unchecked.
    if (timeline === null) throw new DatabaseUnavailable('the database is a read-only standby')
    if (timeline.timeline !== lastTimeline?.timeline) await insertTimeline(connection, timeline)
    return timeline
  }

  async function mark(): Promise<void> {
    const row = await advanceMark(db, deps.clock.now())
    const now = { databaseId: row.database_id, counter: row.counter }
    if (known !== null && isOlder(row, known)) return await compare(db)
    if (known?.databaseId === now.databaseId && known.counter === now.counter) return
    known = now
    await writeKnown(path, known).catch((error: Error) => warnOnce(error))
  }
}

/** False for another database: its counter says nothing about this one. */
function isOlder(row: MarkRow, known: Known): boolean {
  return row.database_id === known.databaseId && row.counter < known.counter
}

/** Some managed servers do not report their timeline. Then only the counter shows a loss. */
async function canFindTimeline(db: Db, log: Logger): Promise<boolean> {
  try {
    await findTimeline(db)
    return true
  } catch (error) {
    if (isDatabaseUnavailable(error)) throw error
    log.info(
      { err: error },
      'this PostgreSQL does not report its timeline: a loss of less than a second may go unnoticed',
    )
    return false
  }
}

/** Whether the server lacks one of these transactions, which were acknowledged on `lastTimeline`. */
async function isBehind(
  connection: Db,
  { xids, lastTimeline, timeline }: { xids: number[]; lastTimeline: Timeline; timeline: Timeline },
): Promise<boolean> {
  // Numbers of another cluster mean nothing.
  if (timeline.system_identifier !== lastTimeline.system_identifier) return false
  if (timeline.timeline < lastTimeline.timeline) return true
  return await hasLostOne(connection, xids, { since: lastTimeline, now: timeline })
}

async function recover(
  { clock, acquirers }: Deps,
  tx: Tx,
  { counter, lastMarkAt }: { counter: number; lastMarkAt: Date },
): Promise<void> {
  const now = clock.now()
  const from = new Date(lastMarkAt.getTime() - marginMs)
  await saveCounter(tx, counter)
  await freezePayoutsAlso(tx, { reason: writeLossReason(lastMarkAt.toISOString()), by: byService, now })
  await reviewAfterLostCommits(tx, now)
  await readListsAgain(tx, from)
  const runAt = new Date(now.getTime() + compareAfterMs)
  for (const { name } of acquirers.all)
    await enqueueRun(tx, { acquirer: name, window: { from, to: now }, by: byService, now, runAt })
}

async function readKnown(path: string, log: Logger): Promise<Known | null> {
  const text = await readFile(path, 'utf8').catch((error: Error) => {
    if (!hasCode(error, 'ENOENT'))
      log.warn(
        { reason: error.message },
        'the mark in DATA_DIR cannot be read: this start does not notice lost commits',
      )
    return null
  })
  if (text === null) return null
  try {
    return Value.Parse(KnownFile, JSON.parse(text))
  } catch (cause) {
    throw new Error(`${path} is damaged. Verify that the database is complete, then delete the file.`, { cause })
  }
}

/** A reader finds either the former file or the new one, also after a power cut. */
async function writeKnown(path: string, known: Known): Promise<void> {
  const next = `${path}.${process.pid}`
  await mkdir(join(path, '..'), { recursive: true })
  const file = await open(next, 'w', 0o600)
  try {
    await file.writeFile(`${JSON.stringify(known)}\n`)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(next, path)
}
