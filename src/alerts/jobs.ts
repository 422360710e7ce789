import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Db } from '../db/sql.ts'
import { enqueueJob, type Job, type JobSchedule } from '../jobs/jobs.ts'
import type { Language } from '../lib/alert-settings.ts'
import type { Clock } from '../lib/clock.ts'
import { newUuid } from '../lib/secrets.ts'
import { type Channel, ChannelError } from './channels.ts'
import { conditionOf, findMet, type Met, type Reading } from './conditions.ts'
import {
  type AlertRow,
  claimNotice,
  deleteAlerts,
  findNotice,
  lockOpenAlerts,
  makeNoticesDue,
  releaseNotice,
  saveAlerts,
  saveSent,
} from './store.ts'
import { writeMessage } from './text.ts'

/** An alert that lasts is reported again after this time. */
const remindAfterMs = 24 * 60 * 60_000
/**
 * A reported alert ends when its condition has not been met for this long: one that is met again before continues it.
 */
const endAfterMs = 5 * 60_000
/** Ended alerts are kept this long. */
const keptMs = 90 * 24 * 60 * 60_000
/** Kept of a kind that this version does not know: longer than two versions run side by side in an upgrade. */
const unknownKindKeptMs = 24 * 60 * 60_000
/**
 * Longer than any channel takes to send. If the process ends before it has recorded that a message was sent, another
 * one sends it again with the same id.
 */
const leaseMs = 60_000

const sendJob = 'alerts.send'
const SendPayload = Type.Object({ channel: Type.String() })

export type AlertDeps = {
  db: Db
  clock: Clock
  log: Pick<Logger, 'error'>
  registry: Registry
  baseUrl: string
  language: Language
  channels: Channel[]
}

export function alertJobs(deps: AlertDeps): Record<string, Job> {
  return {
    'alerts.check': async () => await checkAlerts(deps),
    [sendJob]: async (payload, stopping) => {
      const { channel: name } = Value.Parse(SendPayload, payload)
      const channel = deps.channels.find((one) => one.name === name)
      // The channel may no longer be configured.
      if (channel) await sendDue(deps, channel, stopping)
    },
  }
}

export const alertSchedules: Record<string, JobSchedule> = { 'alerts.check': { everySeconds: 60 } }

/** Compares the conditions with the open alerts, and queues what is to be reported for each channel. */
async function checkAlerts({ db, clock, log, registry, channels }: AlertDeps): Promise<void> {
  const reading = await findMet(registry)
  for (const [kind, error] of reading.unread)
    log.error({ err: error, kind }, 'the condition of an alert could not be read')
  const now = clock.now()
  await db.transaction(async (tx) => {
    const { changed, deleted, reported } = compareAlerts(await lockOpenAlerts(tx), reading, now)
    await saveAlerts(tx, changed)
    await deleteAlerts(tx, {
      ids: deleted,
      endedBefore: new Date(now.getTime() - keptMs),
      unknownBefore: new Date(now.getTime() - unknownKindKeptMs),
    })
    const names = channels.map(({ name }) => name)
    // A job for each channel: one that does not answer delays no other.
    for (const channel of await makeNoticesDue(tx, { reported, channels: names, now }))
      await enqueueJob(tx, { name: sendJob, key: `${sendJob} ${channel}`, payload: { channel }, ifQueued: 'keep' })
  })
}

type Comparison = { changed: AlertRow[]; deleted: string[]; reported: string[] }

function compareAlerts(open: AlertRow[], { met, unread }: Reading, now: Date): Comparison {
  // If a condition could not be read, its alerts stay as they are.
  const known = open.filter(({ kind }) => !unread.has(kind))
  const rows = new Map(known.map((row) => [`${row.kind} ${row.subject}`, row]))
  const comparison: Comparison = { changed: [], deleted: [], reported: [] }
  const report = (row: AlertRow) => {
    comparison.reported.push(row.id)
    return { ...row, reported_at: now, reports: row.reports + 1 }
  }
  for (const one of met) {
    const key = `${one.kind} ${one.subject}`
    const row = { ...(rows.get(key) ?? begin(one, now)), value: one.value, met_at: now }
    rows.delete(key)
    comparison.changed.push(isDue(row, now) ? report(row) : row)
  }
  // What is left is not met any more.
  for (const row of rows.values()) {
    if (row.reported_at === null) comparison.deleted.push(row.id)
    else if (now.getTime() - row.met_at.getTime() >= endAfterMs)
      comparison.changed.push({ ...report(row), ended_at: now })
  }
  return comparison
}

function begin({ kind, subject, value }: Met, now: Date): AlertRow {
  const none = { reported_at: null, reports: 0, ended_at: null }
  return { id: newUuid(), kind, subject, value, began_at: now, met_at: now, ...none }
}

function isDue({ kind, began_at: beganAt, reported_at: reportedAt }: AlertRow, now: Date): boolean {
  const { forSeconds = 0 } = conditionOf(kind)
  return reportedAt === null
    ? now.getTime() - beganAt.getTime() >= forSeconds * 1000
    : now.getTime() - reportedAt.getTime() >= remindAfterMs
}

/**
 * Sends the notices that are due on a channel (what it has received of an alert: store.ts), the oldest first. If the
 * channel failed for longer than an alert lasted, it gets only the last report. Throws when the channel fails: the job
 * is tried again. If some recipients have the message, it does not throw: they would get the message again with each
 * attempt.
 */
async function sendDue(deps: AlertDeps, channel: Channel, stopping: AbortSignal): Promise<void> {
  const { db, clock, log } = deps
  while (!stopping.aborted) {
    const now = clock.now()
    const leaseUntil = new Date(now.getTime() + leaseMs)
    const alertId = await claimNotice(db, channel.name, { now, leaseUntil })
    if (alertId === null) return
    const lease = { alertId, channel: channel.name, leaseUntil }
    const alert = await findNotice(db, lease)
    if (alert === null) continue
    try {
      if (alert.sent < alert.reports) await channel.send(writeMessage(alert, deps))
    } catch (error) {
      if (!(error instanceof ChannelError && error.isPartial)) {
        await releaseNotice(db, { ...lease, now: clock.now() })
        throw error
      }
      log.error({ err: error, alertId }, 'an alert did not reach all recipients')
    }
    await saveSent(db, { ...lease, sent: alert.reports })
  }
}
