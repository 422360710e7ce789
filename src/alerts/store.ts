import { rowsParam } from '../db/rows-param.ts'
import { type Db, sql, type Tx } from '../db/sql.ts'
import { type Claim, claimDueRows } from '../jobs/claim.ts'
import { type AlertKind, alertKinds } from './conditions.ts'

/**
 * A condition that was met. It is reported when it begins, at intervals while it lasts, and when it ends: `reports` is
 * the number of these messages so far. A notice (`alert_notices`) is what one channel, such as e-mail, has received of
 * them.
 */
export type AlertRow = {
  id: string
  kind: AlertKind
  subject: string
  value: number
  began_at: Date
  met_at: Date
  reported_at: Date | null
  reports: number
  ended_at: Date | null
}

const columns = sql`id, kind, subject, value, began_at, met_at, reported_at, reports, ended_at`
const columnsParam = rowsParam<AlertRow>({
  id: 'uuid',
  kind: 'text',
  subject: 'text',
  value: 'bigint',
  began_at: 'timestamptz',
  met_at: 'timestamptz',
  reported_at: 'timestamptz',
  reports: 'integer',
  ended_at: 'timestamptz',
})

/** The alerts of known kinds that have not ended. Another check waits until this transaction ends; readers do not. */
export async function lockOpenAlerts(tx: Tx): Promise<AlertRow[]> {
  await tx.query(sql`lock table alerts in share row exclusive mode`)
  return await tx.query<AlertRow>(sql`
    select ${columns} from alerts where ended_at is null and kind = any (${alertKinds}) order by began_at, id`)
}

export async function saveAlerts(tx: Tx, rows: AlertRow[]): Promise<void> {
  await tx.query(sql`
    insert into alerts (${columns}) select ${columns} from ${columnsParam(rows)}
    on conflict (id) do update set value = excluded.value, met_at = excluded.met_at, reported_at = excluded.reported_at,
      reports = excluded.reports, ended_at = excluded.ended_at`)
}

/**
 * Deletes the alerts in `ids`, those that ended before `endedBefore`, and those of unknown kinds whose condition was
 * last met before `unknownBefore`: until then another version of the service may still check it.
 */
export async function deleteAlerts(
  tx: Tx,
  { ids, endedBefore, unknownBefore }: { ids: string[]; endedBefore: Date; unknownBefore: Date },
): Promise<void> {
  await tx.query(sql`
    delete from alerts
    where id = any (${ids}::uuid[]) or ended_at < ${endedBefore}
      or (kind <> all (${alertKinds}) and met_at < ${unknownBefore})`)
}

/**
 * Makes the last report of the alerts in `reported` due on each channel. A channel that was not configured before gets
 * the current report of each open alert. Returns the channels on which something is due.
 */
export async function makeNoticesDue(
  tx: Tx,
  { reported, channels, now }: { reported: string[]; channels: string[]; now: Date },
): Promise<string[]> {
  await tx.query(sql`
    insert into alert_notices (alert_id, channel, send_at)
    select id, name, ${now} from alerts, unnest(${channels}::text[]) as configured (name)
    where id = any (${reported}::uuid[]) or (reports > 0 and ended_at is null and not exists (
      select from alert_notices known where known.alert_id = alerts.id and known.channel = configured.name))
    on conflict (alert_id, channel) do update set send_at = excluded.send_at`)
  const rows = await tx.query<{ channel: string }>(sql`
    select distinct channel from alert_notices where send_at <= ${now} and channel = any (${channels})`)
  return rows.map(({ channel }) => channel)
}

type Lease = { alertId: string; channel: string; leaseUntil: Date }

/** Leases the oldest notice that is due on a channel. Returns the id of its alert, or null. */
export async function claimNotice(db: Db, channel: string, claim: Omit<Claim, 'limit'>): Promise<string | null> {
  const [row] = await claimDueRows<{ alert_id: string }>(
    db,
    {
      table: sql`alert_notices`,
      dueAt: sql`send_at`,
      isOpen: sql`channel = ${channel}`,
      columns: sql`alert_id`,
    },
    { ...claim, limit: 1 },
  )
  return row?.alert_id ?? null
}

/** A report that became due meanwhile stays due. */
export async function saveSent(
  db: Db,
  { alertId, channel, leaseUntil, sent }: Lease & { sent: number },
): Promise<void> {
  await db.query(sql`
    update alert_notices set sent = ${sent}, send_at = case when send_at = ${leaseUntil} then null else send_at end
    where alert_id = ${alertId} and channel = ${channel}`)
}

/** Makes a notice due again, after a failed attempt. */
export async function releaseNotice(
  db: Db,
  { alertId, channel, leaseUntil, now }: Lease & { now: Date },
): Promise<void> {
  await db.query(sql`
    update alert_notices set send_at = ${now}
    where alert_id = ${alertId} and channel = ${channel} and send_at = ${leaseUntil}`)
}

/** An alert, and the number of its last report that the channel has received. Null if it was deleted or is unknown. */
export async function findNotice(
  db: Db,
  { alertId, channel }: { alertId: string; channel: string },
): Promise<(AlertRow & { sent: number }) | null> {
  const [row] = await db.query<AlertRow & { sent: number }>(sql`
    select ${columns}, sent from alerts join alert_notices on alert_id = id
    where id = ${alertId} and channel = ${channel} and kind = any (${alertKinds})`)
  return row ?? null
}

/** The reported alerts: all open ones, and the latest that have ended. */
export async function listAlerts(db: Db, { endedMax }: { endedMax: number }): Promise<AlertRow[]> {
  const reported = sql`alerts where reports > 0 and kind = any (${alertKinds})`
  return await db.query<AlertRow>(sql`
    (select ${columns} from ${reported} and ended_at is null order by began_at desc, id)
    union all
    (select ${columns} from ${reported} and ended_at is not null order by ended_at desc, id limit ${endedMax})`)
}
