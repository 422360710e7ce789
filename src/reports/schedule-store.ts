import { type Db, empty, sql, type Tx } from '../db/sql.ts'
import type { Language } from '../lib/alert-settings.ts'
import type { Role } from '../users/roles.ts'
import type { Every } from './period.ts'
import type { ReportDate, ReportFormat, ReportName } from './write.ts'

export type ScheduledReport = ReportName | 'closed_day'

export type ScheduleRow = {
  merchant_id: string
  id: string
  report: ScheduledReport
  format: ReportFormat
  every: Every
  /** Which date of a record puts it in a period. */
  dating: ReportDate
  language: Language
  /** Ids of users. */
  recipients: string[]
  is_operators: boolean
  created_by: string
  created_at: Date
  paused_at: Date | null
  due_at: Date
}

export type SendingRow = {
  first_day: string
  last_day: string
  due_at: Date
  sent_to: string[]
  attempts: number
  last_error: string | null
  outcome: 'sent' | 'no_recipient' | 'given_up' | 'paused' | null
  finished_at: Date | null
}

export type ScheduleKey = { merchantId: string; scheduleId: string }
export type SendingKey = ScheduleKey & { firstDay: string }

const columns = sql`
  merchant_id, id, report, format, every, dating, language, recipients, is_operators, created_by, created_at, paused_at, due_at`
const sendingColumns = sql`
  first_day::text, last_day::text, report_sendings.due_at, sent_to, attempts, last_error, outcome, finished_at`

export async function insertSchedule(tx: Tx, row: ScheduleRow): Promise<void> {
  await tx.query(sql`
    insert into report_schedules (${columns})
    values (${row.merchant_id}, ${row.id}, ${row.report}, ${row.format}, ${row.every}, ${row.dating}, ${row.language},
      ${row.recipients}::uuid[], ${row.is_operators}, ${row.created_by}, ${row.created_at}, ${row.paused_at}, ${row.due_at})`)
}

/** Returns how many schedules a merchant has, under a lock: only one transaction at a time adds one. */
export async function countSchedules(tx: Tx, merchantId: string): Promise<number> {
  await tx.query(sql`select pg_advisory_xact_lock(hashtextextended(${`report schedules ${merchantId}`}, 0))`)
  const [row] = await tx.query<{ count: number }>(
    sql`select count(*) as count from report_schedules where merchant_id = ${merchantId}`,
  )
  return row?.count ?? 0
}

type Seen = { merchantId: string; isOperators: boolean }

/** The schedules that the merchant or the operator (`isOperators`) sees, with the last sending of each. */
export async function listSchedules(
  db: Db,
  { merchantId, isOperators }: Seen,
): Promise<(ScheduleRow & { last: SendingRow | null })[]> {
  const rows = await db.query<ScheduleRow & Partial<SendingRow>>(sql`
    select ${columns} from report_schedules
    where merchant_id = ${merchantId} ${isOperators ? empty : sql`and not is_operators`} order by created_at, id`)
  const sendings = await db.query<SendingRow & { schedule_id: string }>(sql`
    select distinct on (schedule_id) schedule_id, ${sendingColumns} from report_sendings
    where merchant_id = ${merchantId} and schedule_id = any(${rows.map(({ id }) => id)}::uuid[])
    order by schedule_id, first_day desc`)
  return rows.map((row) => ({ ...row, last: sendings.find((one) => one.schedule_id === row.id) ?? null }))
}

export async function lockSchedule(tx: Tx, { merchantId, id, isOperators }: Seen & { id: string }) {
  const [row] = await tx.query<ScheduleRow>(sql`
    select ${columns} from report_schedules
    where merchant_id = ${merchantId} and id = ${id} ${isOperators ? empty : sql`and not is_operators`} for update`)
  return row ?? null
}

export async function updatePaused(
  tx: Tx,
  { merchantId, scheduleId, pausedAt, dueAt }: ScheduleKey & { pausedAt: Date | null; dueAt: Date },
): Promise<void> {
  await tx.query(sql`
    update report_schedules set paused_at = ${pausedAt}, due_at = ${dueAt}
    where merchant_id = ${merchantId} and id = ${scheduleId}`)
}

export async function deleteSchedule(tx: Tx, { merchantId, scheduleId }: ScheduleKey): Promise<void> {
  await tx.query(sql`delete from report_schedules where merchant_id = ${merchantId} and id = ${scheduleId}`)
}

/** Locks schedules whose period is over. Those that are locked already are left to the next call. */
export async function lockDueSchedules(tx: Tx, { now, limit }: { now: Date; limit: number }): Promise<ScheduleRow[]> {
  return await tx.query<ScheduleRow>(sql`
    select ${columns} from report_schedules where paused_at is null and due_at <= ${now}
    order by due_at limit ${limit} for update skip locked`)
}

export async function updateDue(tx: Tx, { merchantId, scheduleId }: ScheduleKey, dueAt: Date): Promise<void> {
  await tx.query(sql`
    update report_schedules set due_at = ${dueAt} where merchant_id = ${merchantId} and id = ${scheduleId}`)
}

/** False if the period has one already. */
export async function insertSending(
  tx: Tx,
  { merchantId, scheduleId, firstDay, lastDay, dueAt }: SendingKey & { lastDay: string; dueAt: Date },
): Promise<boolean> {
  const rows = await tx.query(sql`
    insert into report_sendings (merchant_id, schedule_id, first_day, last_day, due_at)
    values (${merchantId}, ${scheduleId}, ${firstDay}, ${lastDay}, ${dueAt})
    on conflict do nothing returning first_day`)
  return rows.length > 0
}

/** A sending that is not finished, and its schedule. */
export async function findOpenSending(
  db: Db,
  key: SendingKey,
): Promise<{ schedule: ScheduleRow; sending: SendingRow } | null> {
  const { merchantId, scheduleId, firstDay } = key
  const [sending] = await db.query<SendingRow>(sql`
    select ${sendingColumns} from report_sendings
    where merchant_id = ${merchantId} and schedule_id = ${scheduleId} and first_day = ${firstDay} and outcome is null`)
  const [schedule] = await db.query<ScheduleRow>(sql`
    select ${columns} from report_schedules where merchant_id = ${merchantId} and id = ${scheduleId}`)
  return sending && schedule ? { schedule, sending } : null
}

const ofKey = ({ merchantId, scheduleId, firstDay }: SendingKey) =>
  sql`merchant_id = ${merchantId} and schedule_id = ${scheduleId} and first_day = ${firstDay}`

/** The mail server has accepted the mail to this recipient. */
export async function saveSentTo(db: Db, key: SendingKey, userId: string): Promise<void> {
  await db.query(sql`
    update report_sendings set sent_to = array_append(sent_to, ${userId}::uuid)
    where ${ofKey(key)} and not ${userId}::uuid = any(sent_to)`)
}

export async function saveAttempt(db: Db, key: SendingKey, error: string | null): Promise<void> {
  await db.query(sql`
    update report_sendings set attempts = attempts + 1, last_error = ${error} where ${ofKey(key)} and outcome is null`)
}

export async function finishSending(
  db: Db | Tx,
  key: SendingKey,
  { outcome, now }: { outcome: NonNullable<SendingRow['outcome']>; now: Date },
): Promise<void> {
  await db.query(sql`
    update report_sendings set outcome = ${outcome}, finished_at = ${now} where ${ofKey(key)} and outcome is null`)
}

/** Ends the sendings that are due and not finished. */
export async function pauseSendings(tx: Tx, { merchantId, scheduleId }: ScheduleKey, now: Date): Promise<void> {
  await tx.query(sql`
    update report_sendings set outcome = 'paused', finished_at = ${now}
    where merchant_id = ${merchantId} and schedule_id = ${scheduleId} and outcome is null`)
}

export async function deleteSendings(tx: Tx, before: Date): Promise<void> {
  await tx.query(sql`delete from report_sendings where finished_at < ${before}`)
}

/**
 * Merchants with an undelivered report, and since when the oldest of these is due. A report is undelivered while it is
 * being retried, or if it was given up after `givenUpAfter` and no later report of its schedule was sent. `client`: the
 * merchant's first client id; empty for the operator.
 */
export async function listUndelivered(
  db: Db,
  { givenUpAfter, limit }: { givenUpAfter: Date; limit: number },
): Promise<{ client: string; since: Date }[]> {
  return await db.query<{ client: string; since: Date }>(sql`
    select coalesce(first.client_id, '') as client, min(last.due_at) as since
    from report_schedules schedule
    cross join lateral (
      -- Of a daily one: three days of attempts, and a week after they were given up.
      select first_day, due_at, outcome, finished_at from report_sendings
      where merchant_id = schedule.merchant_id and schedule_id = schedule.id order by first_day desc limit 10
    ) last
    left join lateral (
      select client_id from clients where merchant_id = schedule.merchant_id order by created_at limit 1
    ) first on true
    where paused_at is null and (outcome is null or outcome = 'given_up' and finished_at > ${givenUpAfter} and not exists (
      select from report_sendings later
      where later.merchant_id = schedule.merchant_id and later.schedule_id = schedule.id
        and later.first_day > last.first_day and later.outcome = 'sent'))
    group by client order by since limit ${limit}`)
}

export type RecipientRow = { id: string; email: string; name: string; role: Role; merchant_id: string | null }

/** The people who may get a merchant's reports: its own, and the operator's. Null: the operator's alone. */
export async function listRecipients(db: Db | Tx, merchantId: string | null): Promise<RecipientRow[]> {
  return await db.query<RecipientRow>(sql`
    select id, email, name, role, merchant_id from users
    where disabled_at is null and (merchant_id is null or merchant_id = ${merchantId}) order by merchant_id nulls last, email`)
}

export async function findMerchantName(db: Db, merchantId: string): Promise<string> {
  const [row] = await db.query<{ name: string }>(sql`
    select name from clients where merchant_id = ${merchantId} order by created_at limit 1`)
  return row?.name ?? 'Guichê'
}
