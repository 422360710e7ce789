import { Gauge, type Registry } from 'prom-client'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Acquirers } from '../acquirers/registry.ts'
import { sendMail } from '../alerts/mail.ts'
import type { Db } from '../db/sql.ts'
import type { StreamedFile } from '../http/csv.ts'
import { enqueueJob, type Job, type JobSchedule } from '../jobs/jobs.ts'
import type { MailSettings } from '../lib/alert-settings.ts'
import { dayOf } from '../lib/brasilia.ts'
import type { Clock } from '../lib/clock.ts'
import { findStatement } from '../reconciliation/close-store.ts'
import { writeDayPdf } from './day-pdf.ts'
import { writeReportMail } from './mail-text.ts'
import { lastPeriodBefore, type Period } from './period.ts'
import {
  deleteSendings,
  findMerchantName,
  findOpenSending,
  finishSending,
  insertSending,
  listRecipients,
  listUndelivered,
  lockDueSchedules,
  type RecipientRow,
  type ScheduleRow,
  type SendingKey,
  saveAttempt,
  saveSentTo,
  updateDue,
} from './schedule-store.ts'
import { dueAfter, mayReceive } from './schedules.ts'
import { writeReport } from './write.ts'

const sendJob = 'reports.send'
const SendPayload = Type.Object({ merchantId: Type.String(), scheduleId: Type.String(), firstDay: Type.String() })

/** Per run, which is once a minute. */
const schedulesAtOnce = 100
/** A mail server that does not accept a message for three days will not. */
const giveUpAfterMs = 3 * 24 * 60 * 60_000
/** Mail servers refuse larger messages, and a file is in memory while it is sent. */
const attachmentBytesMax = 8 * 1024 * 1024
/** A day is signed soon after it is over, or when the PSP answers again. */
const closedDayPauseMs = 30 * 60_000
/** Sendings are shown; each schedule has at most one a day. */
const keptMs = 400 * 24 * 60 * 60_000
/** A report that was given up is not tried again: it is reported for this long, or until the next one is sent. */
const reportedMs = 7 * 24 * 60 * 60_000
/** At most so many merchants have a time series of their own, and therefore an alert. */
const undeliveredMax = 20

export type ReportDeps = {
  db: Db
  clock: Clock
  baseUrl: string
  /** Null: no mail is sent, nothing becomes due, and what was due is given up. */
  mail: MailSettings | null
  /** Those whose days are closed. */
  acquirers: Acquirers
}

export function reportJobs(deps: ReportDeps): Record<string, Job> {
  return {
    'reports.due': async () => {
      if (deps.mail) await beginDue(deps)
    },
    [sendJob]: async (payload, stopping) => {
      const key = Value.Parse(SendPayload, payload)
      if (deps.mail) return await send(deps, deps.mail, { key, stopping })
      await saveAttempt(deps.db, key, 'no mail server is configured any more')
      await finishSending(deps.db, key, { outcome: 'given_up', now: deps.clock.now() })
    },
  }
}

/** A mail server that does not answer keeps a job for half a minute for each recipient. */
export const reportJobsOneAtOnce = [sendJob]

export const reportJobSchedules: Record<string, JobSchedule> = { 'reports.due': { everySeconds: 60 } }

export function observeReports({
  db,
  clock,
  registry,
}: Pick<ReportDeps, 'db' | 'clock'> & { registry: Registry }): void {
  new Gauge({
    name: 'guiche_report_undelivered_seconds',
    help: `For how long the oldest scheduled report of a merchant has been due without being mailed to all its recipients; no client for the operator’s own; only the ${undeliveredMax} that wait longest`,
    labelNames: ['client'],
    aggregator: 'max',
    registers: [registry],
    async collect() {
      const now = clock.now().getTime()
      this.reset()
      const givenUpAfter = new Date(now - reportedMs)
      for (const { client, since } of await listUndelivered(db, { givenUpAfter, limit: undeliveredMax }))
        this.set({ client }, Math.max(0, now - since.getTime()) / 1000)
    },
  })
}

/**
 * Begins the sending of each period that is over. The sending, its job and the next due time are one commit, and a period
 * has one sending: it is begun once, whatever happens. After an outage only the last period is sent.
 */
async function beginDue({ db, clock }: ReportDeps): Promise<void> {
  await db.transaction(async (tx) => {
    const now = clock.now()
    for (const schedule of await lockDueSchedules(tx, { now, limit: schedulesAtOnce })) {
      const { from, until } = lastPeriodBefore(dayOf(now), schedule.every)
      const key = { merchantId: schedule.merchant_id, scheduleId: schedule.id, firstDay: from }
      if (await insertSending(tx, { ...key, lastDay: until, dueAt: now }))
        await enqueueJob(tx, { name: sendJob, key: keyOf(key), payload: key, ifQueued: 'keep' })
      await updateDue(tx, key, dueAfter(now, schedule.every))
    }
    await deleteSendings(tx, new Date(now.getTime() - keptMs))
  })
}

const keyOf = ({ merchantId, scheduleId, firstDay }: SendingKey) => `${sendJob} ${merchantId} ${scheduleId} ${firstDay}`

/**
 * Sends the report of a period to each recipient who has not received it. Throws if a mail was not accepted: the job is
 * tried again, for the others only.
 */
async function send(
  deps: ReportDeps,
  mail: MailSettings,
  { key, stopping }: { key: SendingKey; stopping: AbortSignal },
): Promise<void> {
  const { db, clock } = deps
  const found = await findOpenSending(db, key)
  if (!found) return
  const { schedule, sending } = found
  const now = clock.now()
  const finish = async (outcome: 'sent' | 'no_recipient' | 'given_up') =>
    await finishSending(db, key, { outcome, now: clock.now() })
  const age = now.getTime() - sending.due_at.getTime()
  if (age >= giveUpAfterMs) return await finish('given_up')
  const recipients = await findRecipients(db, schedule)
  if (recipients.length === 0) return await finish('no_recipient')
  const period = { from: sending.first_day, until: sending.last_day }
  const files = await makeFiles(deps, schedule, period)
  if (files === null) return await waitForClosedDay(deps, key)
  const left = recipients.filter(({ id }) => !sending.sent_to.includes(id))
  let failure: Error | null = null
  for (const recipient of left) {
    stopping.throwIfAborted()
    try {
      await sendTo(deps, mail, { schedule, period, recipient, files })
      await saveSentTo(db, key, recipient.id)
    } catch (error) {
      failure = error instanceof Error ? error : new Error(String(error))
    }
  }
  await saveAttempt(db, key, failure?.message ?? null)
  if (failure) throw failure
  await finish('sent')
}

/** Those who may still read the report: a person may have left, or have another role. */
async function findRecipients(db: Db, schedule: ScheduleRow): Promise<RecipientRow[]> {
  const people = await listRecipients(db, schedule.merchant_id)
  return people.filter((person) => schedule.recipients.includes(person.id) && mayReceive(person, schedule.report))
}

type File = { filename: string; contentType: string; content: Buffer }
/** `isTooLarge`: no file is attached, and the mail links to the screen that has them. */
type Files = { files: File[]; isTooLarge: boolean }

/** Null: the day is not closed yet. */
async function makeFiles(deps: ReportDeps, schedule: ScheduleRow, period: Period): Promise<Files | null> {
  const { db, clock, baseUrl } = deps
  const { report, format, dating: by, language, merchant_id: id } = schedule
  if (report !== 'closed_day') {
    const merchant = { id, name: await findMerchantName(db, id) }
    const file = await toFile(writeReport({ reads: db, clock }, { merchant, report, format, period, by, language }))
    return file === null ? { files: [], isTooLarge: true } : { files: [file], isTooLarge: false }
  }
  const files: File[] = []
  for (const acquirer of deps.acquirers.all) {
    const row = await findStatement(db, { acquirer: acquirer.name, day: period.from })
    if (!row) return null
    const filename = `${acquirer.name}-${row.day}-v${row.version}`
    const content = await writeDayPdf(row, { language, baseUrl })
    files.push({ filename: `${filename}.pdf`, contentType: 'application/pdf', content })
    files.push({ filename: `${filename}.jws`, contentType: 'application/jose', content: Buffer.from(row.statement) })
  }
  const isTooLarge = files.reduce((sum, { content }) => sum + content.length, 0) > attachmentBytesMax
  return { files: isTooLarge ? [] : files, isTooLarge }
}

/** Null if it is larger than a mail may be. */
async function toFile({ name, type, pieces }: StreamedFile): Promise<File | null> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const piece of pieces) {
    const chunk = typeof piece === 'string' ? Buffer.from(piece) : piece
    size += chunk.length
    if (size > attachmentBytesMax) return null
    chunks.push(chunk)
  }
  return { filename: name, contentType: type, content: Buffer.concat(chunks) }
}

async function waitForClosedDay({ db, clock }: ReportDeps, key: SendingKey): Promise<void> {
  const runAt = new Date(clock.now().getTime() + closedDayPauseMs)
  await saveAttempt(db, key, 'the day is not closed yet')
  // The running job loses its key, and this one follows it.
  await enqueueJob(db, { name: sendJob, key: keyOf(key), payload: key, runAt })
}

async function sendTo(
  { db, baseUrl }: ReportDeps,
  mail: MailSettings,
  {
    schedule,
    period,
    recipient,
    files,
  }: { schedule: ScheduleRow; period: Period; recipient: RecipientRow; files: Files },
): Promise<void> {
  const { id, merchant_id: merchantId, report, language } = schedule
  const merchantName = report === 'closed_day' ? null : await findMerchantName(db, merchantId)
  const { subject, text } = writeReportMail({ report, period, language, merchantName, baseUrl, ...files })
  await sendMail(mail, baseUrl, {
    // One mail each: nobody sees the others' addresses.
    ...{ to: recipient.email, subject, text, attachments: files.files },
    id: `${merchantId}.${id}.${period.from}.${recipient.id}`,
  })
}
