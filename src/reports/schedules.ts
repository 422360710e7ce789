import { type By, recordAction } from '../audit/record.ts'
import type { Db, Tx } from '../db/sql.ts'
import { idempotencyKeyReused } from '../http/idempotency-key.ts'
import type { Language } from '../lib/alert-settings.ts'
import { dayOf, fromWallTime } from '../lib/brasilia.ts'
import type { Clock } from '../lib/clock.ts'
import { AppError, invalidField } from '../lib/errors.ts'
import { differingPaths } from '../lib/json.ts'
import { operatorMerchantId } from '../suspense/status.ts'
import { permissionsOf } from '../users/roles.ts'
import { type Every, endOfPeriod } from './period.ts'
import {
  countSchedules,
  deleteSchedule,
  insertSchedule,
  listRecipients,
  lockSchedule,
  pauseSendings,
  type RecipientRow,
  type ScheduledReport,
  type ScheduleRow,
  updatePaused,
} from './schedule-store.ts'
import { type ReportDate, type ReportFormat, reportFormats, reportPermissions } from './write.ts'

/**
 * The schedules of a merchant, or the operator's own (null). `isOperators`: a person of the operator asks, who also
 * sees the schedules that the operator has made for the merchant.
 */
export type Scope = { merchantId: string | null; isOperators: boolean }

/** More than anybody reads; each costs a file per period. */
export const schedulesMax = 20
export const recipientsMax = 10
/** Brasília. Closed days are signed half an hour after midnight, and nobody reads mail before this. */
const sendHour = 6

export const scheduledReports = ['transactions', 'withdrawals', 'statement', 'fees', 'closed_day'] as const

/** What a person must be allowed to read to get a report. `closed_day`: the signed statement of a reconciled day. */
export function permissionFor(report: ScheduledReport): string {
  return report === 'closed_day' ? 'reconciliation.read' : reportPermissions[report]
}

/** The formats that can be sent. */
export function formatsOf(report: ScheduledReport): readonly ReportFormat[] {
  return report === 'closed_day' ? ['pdf'] : reportFormats[report]
}

export function mayReceive({ role, merchant_id: merchantId }: RecipientRow, report: ScheduledReport): boolean {
  const permissions: readonly string[] = permissionsOf({ role, isOperator: merchantId === null })
  return permissions.includes(permissionFor(report))
}

/** The people whom the merchant or the operator (`isOperators`) may name as recipients. */
export async function listCandidates(db: Db | Tx, { merchantId, isOperators }: Scope): Promise<RecipientRow[]> {
  const people = await listRecipients(db, merchantId)
  return isOperators ? people : people.filter((person) => person.merchant_id === merchantId)
}

export type NewSchedule = {
  /** Chosen by the page, so that a repeated request makes one schedule. */
  id: string
  report: ScheduledReport
  format: ReportFormat
  every: Every
  by: ReportDate
  language: Language
  recipients: string[]
}

type Deps = { db: Db; clock: Clock }

/**
 * @throws {AppError} `idempotency_key_reused`; `validation_failed` if the report is not offered in this format or
 * for this period, a recipient may not read it, or there are too many
 */
export async function createSchedule(
  { db, clock }: Deps,
  { scope, schedule, by }: { scope: Scope; schedule: NewSchedule; by: By },
): Promise<void> {
  const { id, report, format, every, language } = schedule
  const recipients = [...new Set(schedule.recipients)]
  checkKind(scope, schedule)
  const merchantId = scope.merchantId ?? operatorMerchantId
  const now = clock.now()
  const row: ScheduleRow = {
    ...{ merchant_id: merchantId, id, report, format, every, dating: schedule.by, language, recipients },
    ...{ is_operators: scope.isOperators, created_by: by.actor, created_at: now, paused_at: null },
    due_at: dueAfter(now, every),
  }
  await db.transaction(async (tx) => {
    const count = await countSchedules(tx, merchantId)
    const first = await lockSchedule(tx, { merchantId, id, isOperators: true })
    if (first) return replay(first, row)
    if (count >= schedulesMax)
      throw invalidField('report', 'invalid', `has ${schedulesMax} schedules already: delete one first`)
    const candidates = await listCandidates(tx, scope)
    const may = new Set(candidates.filter((person) => mayReceive(person, report)).map((person) => person.id))
    if (recipients.some((one) => !may.has(one)))
      throw invalidField('recipients', 'invalid', 'must be people who may read this report')
    await insertSchedule(tx, row)
    await recordOf(tx, { row, action: 'report.schedule', by, now })
  })
}

function replay(first: ScheduleRow, requested: ScheduleRow): void {
  const fields = differingPaths(contentOf(first), contentOf(requested))
  if (fields.length > 0) throw idempotencyKeyReused(fields, 'schedule')
}

function contentOf({
  report,
  format,
  every,
  dating: by,
  language,
  recipients,
  is_operators: isOperators,
}: ScheduleRow) {
  return { report, format, every, by, language, recipients: recipients.toSorted().join(), isOperators }
}

function checkKind({ merchantId }: Scope, { report, format, every }: NewSchedule): void {
  if ((report === 'closed_day') !== (merchantId === null))
    throw invalidField('report', 'invalid', merchantId === null ? 'belongs to one merchant' : 'is of all merchants')
  if (!formatsOf(report).includes(format))
    throw invalidField('format', 'invalid', `must be one of ${formatsOf(report).join(', ')} for this report`)
  if (report === 'closed_day' && every !== 'day') throw invalidField('every', 'invalid', 'must be day for this report')
}

/** Pausing ends the sendings that wait. After resuming, the next period that ends is sent, and none of the pause. */
export async function setPaused(
  { db, clock }: Deps,
  { scope, id, isPaused, by }: { scope: Scope; id: string; isPaused: boolean; by: By },
): Promise<void> {
  const now = clock.now()
  await db.transaction(async (tx) => {
    const row = await lockKnown(tx, scope, id)
    if ((row.paused_at !== null) === isPaused) return
    const key = { merchantId: row.merchant_id, scheduleId: id }
    if (isPaused) await pauseSendings(tx, key, now)
    const dueAt = isPaused ? row.due_at : dueAfter(now, row.every)
    await updatePaused(tx, { ...key, pausedAt: isPaused ? now : null, dueAt })
    await recordOf(tx, { row, action: isPaused ? 'report.pause' : 'report.resume', by, now })
  })
}

export async function removeSchedule(
  { db, clock }: Deps,
  { scope, id, by }: { scope: Scope; id: string; by: By },
): Promise<void> {
  await db.transaction(async (tx) => {
    const row = await lockKnown(tx, scope, id)
    await deleteSchedule(tx, { merchantId: row.merchant_id, scheduleId: id })
    await recordOf(tx, { row, action: 'report.delete', by, now: clock.now() })
  })
}

/** The hour of sending on the first day after the period that contains `now`. */
export function dueAfter(now: Date, every: Every): Date {
  return fromWallTime(Date.parse(endOfPeriod(dayOf(now), every)) + sendHour * 60 * 60_000)
}

async function lockKnown(tx: Tx, { merchantId, isOperators }: Scope, id: string): Promise<ScheduleRow> {
  const row = await lockSchedule(tx, { merchantId: merchantId ?? operatorMerchantId, id, isOperators })
  if (!row) throw new AppError('not_found', { detail: 'There is no schedule with this id.' })
  return row
}

type Recorded = { by: By; now: Date; action: 'report.schedule' | 'report.pause' | 'report.resume' | 'report.delete' }

async function recordOf(tx: Tx, { row, ...recorded }: Recorded & { row: ScheduleRow }): Promise<void> {
  const { merchant_id: merchantId, id: recordId, report, format, every, recipients } = row
  await recordAction(tx, { ...recorded, merchantId, recordId, details: { report, format, every, recipients } })
}
