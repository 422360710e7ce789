import type { Registry } from 'prom-client'
import { clockDifferenceMaxSeconds } from '../jobs/instances.ts'

/** How the metric’s value is written: the age or count of what waits, the time or days that are left, a difference. */
export type Fact = 'age' | 'count' | 'left' | 'days' | 'cents' | 'seconds'

/**
 * A condition on a metric. It is met for each subject whose value is greater than `above` and less than `below`, where
 * these are given.
 */
export type Condition = {
  /** The name of its rule in deploy/monitoring/alerts.yaml; a test compares both. */
  rule: string
  severity: 'critical' | 'warning'
  metric: string
  /** Only series with these labels. */
  where?: Record<string, string>
  /** No series in which a label has one of these values. */
  except?: Record<string, string[]>
  /** The labels that tell subjects apart. */
  by?: string[]
  /** How the series of a subject are combined; the largest by default. */
  combine?: 'min' | 'sum'
  isAbsolute?: true
  above?: number
  below?: number
  /** It is reported when it has lasted this long. */
  forSeconds?: number
  fact?: Fact
  /** The path of the dashboard's screen; `{name}` is a label. */
  screen: string
}

const minute = 60
const hour = 60 * minute
const day = 24 * hour

/**
 * Classes of discrepancies that need no person: a late entry may still appear, and one at a cut-off only has another
 * date on each side of midnight.
 */
export const timingClasses = ['late', 'cut_off']

/**
 * The conditions that people are notified of: the one definition for the messages, the dashboard and the alert rules.
 * All use metrics that are the same in each process: they are read from the database, or, for certificates, from the
 * files of the settings. Metrics of a single process are used only in rules for Prometheus.
 */
export const conditions = {
  payouts_frozen: {
    ...{ rule: 'GuichePayoutsFrozen', severity: 'critical' },
    ...{ metric: 'guiche_payouts_stopped', by: ['since'], above: 0 },
    screen: '/system',
  },
  database_went_back: {
    ...{ rule: 'GuicheDatabaseWentBack', severity: 'critical' },
    ...{ metric: 'guiche_payouts_stopped', where: { reason: 'database_loss' }, by: ['since'], above: 0 },
    screen: '/system',
  },
  ledger_not_verified: {
    ...{ rule: 'GuicheLedgerNotVerified', severity: 'critical' },
    ...{ metric: 'guiche_ledger_verification_overdue_seconds', above: 0, forSeconds: 5 * minute, fact: 'age' },
    screen: '/system',
  },
  discrepancy_open: {
    ...{ rule: 'GuicheDiscrepancyOpen', severity: 'warning' },
    ...{ metric: 'guiche_reconciliation_differences_open', except: { class: timingClasses } },
    ...{ by: ['acquirer'], combine: 'sum', above: 0, forSeconds: hour, fact: 'count' },
    screen: '/reconciliation',
  },
  balance_differs: {
    ...{ rule: 'GuicheBalanceDiffers', severity: 'warning' },
    ...{ metric: 'guiche_acquirer_balance_difference_cents', isAbsolute: true, by: ['acquirer'] },
    ...{ above: 0, forSeconds: day, fact: 'cents' },
    screen: '/ledger',
  },
  balance_unread: {
    ...{ rule: 'GuicheBalanceUnread', severity: 'warning' },
    ...{ metric: 'guiche_acquirer_balance_age_seconds', by: ['acquirer'], above: hour },
    ...{ forSeconds: 10 * minute, fact: 'age', screen: '/ledger' },
  },
  reconciliation_overdue: {
    ...{ rule: 'GuicheReconciliationOverdue', severity: 'warning' },
    ...{ metric: 'guiche_reconciliation_age_seconds', where: { kind: 'rolling' }, by: ['acquirer'] },
    ...{ above: hour, forSeconds: 10 * minute, fact: 'age', screen: '/reconciliation' },
  },
  // The daily reconciliation.
  close_overdue: {
    ...{ rule: 'GuicheCloseOverdue', severity: 'warning' },
    ...{ metric: 'guiche_reconciliation_age_seconds', where: { kind: 'daily' }, by: ['acquirer'] },
    ...{ above: 28 * hour, forSeconds: 10 * minute, fact: 'age', screen: '/reconciliation' },
  },
  charge_open_late: {
    ...{ rule: 'GuicheChargeOpenLate', severity: 'warning' },
    ...{ metric: 'guiche_charges_open_late', above: 0, forSeconds: 15 * minute, fact: 'count' },
    screen: '/transactions?status=PENDING&status=PIX_QRCODE_GENERATED',
  },
  suspense_waits: {
    ...{ rule: 'GuicheSuspensePaymentWaits', severity: 'warning' },
    ...{ metric: 'guiche_suspense_oldest_seconds', where: { status: 'held' }, above: day, fact: 'age' },
    screen: '/reconciliation?tab=suspense',
  },
  return_unconfirmed: {
    ...{ rule: 'GuicheSuspenseReturnUnconfirmed', severity: 'warning' },
    ...{ metric: 'guiche_suspense_oldest_seconds', where: { status: 'returning' }, above: hour, fact: 'age' },
    screen: '/reconciliation?tab=suspense',
  },
  other_cell_payments: {
    ...{ rule: 'GuicheOtherCellPayments', severity: 'critical' },
    ...{ metric: 'guiche_other_cell_payments', by: ['cell'], above: 0, fact: 'count' },
    screen: '/system',
  },
  withdrawal_waits: {
    ...{ rule: 'GuicheWithdrawalWaits', severity: 'warning' },
    ...{ metric: 'guiche_withdrawals_oldest_pending_review_seconds', above: 4 * hour, fact: 'age' },
    screen: '/withdrawals',
  },
  // Both stay met after the deadline: they end when the defence is sent, or the bank has decided.
  dispute_deadline_near: {
    ...{ rule: 'GuicheDisputeDeadlineNear', severity: 'warning' },
    ...{ metric: 'guiche_disputes_deadline_in_seconds', by: ['day'], combine: 'min' },
    ...{ below: 3 * day, fact: 'left' },
    screen: '/disputes',
  },
  dispute_deadline: {
    ...{ rule: 'GuicheDisputeDeadline', severity: 'critical' },
    ...{ metric: 'guiche_disputes_deadline_in_seconds', by: ['day'], combine: 'min' },
    ...{ below: day, fact: 'left' },
    screen: '/disputes',
  },
  dispute_overdue: {
    ...{ rule: 'GuicheDisputeOverdue', severity: 'warning' },
    ...{ metric: 'guiche_disputes_overdue_seconds', above: 0, fact: 'age', screen: '/disputes?status=all' },
  },
  disputed_differs: {
    ...{ rule: 'GuicheDisputedDiffers', severity: 'warning' },
    ...{ metric: 'guiche_acquirer_disputed_difference_cents', isAbsolute: true, by: ['acquirer'] },
    ...{ above: 0, forSeconds: hour, fact: 'cents', screen: '/disputes' },
  },
  disputes_unread: {
    ...{ rule: 'GuicheDisputesUnread', severity: 'critical' },
    ...{ metric: 'guiche_disputes_list_age_seconds', by: ['acquirer'], above: 10 * minute, forSeconds: 5 * minute },
    ...{ fact: 'age', screen: '/system' },
  },
  dispute_unreadable: {
    ...{ rule: 'GuicheDisputeUnreadable', severity: 'critical' },
    ...{ metric: 'guiche_disputes_unreadable', by: ['acquirer'], above: 0 },
    screen: '/disputes',
  },
  dispute_status_unknown: {
    ...{ rule: 'GuicheDisputeStatusUnknown', severity: 'warning' },
    ...{ metric: 'guiche_disputes', where: { state: 'unknown' }, above: 0, fact: 'count' },
    screen: '/disputes',
  },
  dispute_unattributed: {
    ...{ rule: 'GuicheDisputeUnattributed', severity: 'warning' },
    ...{ metric: 'guiche_disputes', where: { state: 'unattributed' }, above: 0, fact: 'count' },
    screen: '/disputes',
  },
  certificate_expires: {
    ...{ rule: 'GuicheCertificateExpires', severity: 'warning' },
    ...{ metric: 'guiche_acquirer_certificate_expires_in_days', by: ['acquirer'], combine: 'min' },
    ...{ below: 30, fact: 'days' },
    screen: '/system',
  },
  certificate_expired: {
    ...{ rule: 'GuicheCertificateExpired', severity: 'critical' },
    ...{ metric: 'guiche_acquirer_certificate_expires_in_days', by: ['acquirer'], combine: 'min', below: 0 },
    screen: '/system',
  },
  callbacks_delayed: {
    ...{ rule: 'GuicheCallbacksDelayed', severity: 'critical' },
    ...{ metric: 'guiche_callbacks_oldest_due_seconds', above: minute, forSeconds: minute, fact: 'age' },
    screen: '/system',
  },
  callbacks_fail: {
    ...{ rule: 'GuicheCallbacksFail', severity: 'warning' },
    ...{ metric: 'guiche_callbacks_failing', above: 0, forSeconds: 15 * minute, fact: 'count' },
    screen: '/system',
  },
  jobs_delayed: {
    ...{ rule: 'GuicheJobsDelayed', severity: 'critical' },
    ...{ metric: 'guiche_jobs_oldest_due_seconds', above: minute, forSeconds: minute, fact: 'age' },
    screen: '/system',
  },
  job_given_up: {
    ...{ rule: 'GuicheJobGivenUp', severity: 'warning' },
    ...{ metric: 'guiche_jobs_given_up', above: 0, fact: 'count' },
    screen: '/system',
  },
  // No `forSeconds`: if the clock of the process that saw it first is wrong, the start it recorded may be in the
  // future.
  clock_differs: {
    ...{ rule: 'GuicheClockDiffers', severity: 'warning' },
    ...{ metric: 'guiche_clock_ahead_seconds', isAbsolute: true, by: ['host'], above: clockDifferenceMaxSeconds },
    ...{ fact: 'seconds', screen: '/system' },
  },
  webhooks_delayed: {
    ...{ rule: 'GuicheWebhooksDelayed', severity: 'warning' },
    ...{ metric: 'guiche_webhook_deliveries_oldest_due_seconds', above: minute, forSeconds: minute, fact: 'age' },
    screen: '/system',
  },
  receiver_fails: {
    ...{ rule: 'GuicheReceiverFails', severity: 'warning' },
    ...{ metric: 'guiche_webhook_receiver_failing_seconds', by: ['client', 'receiver'], above: 2 * hour },
    ...{ fact: 'age', screen: '/webhooks?client={client}' },
  },
  endpoint_disabled: {
    ...{ rule: 'GuicheWebhookEndpointDisabled', severity: 'warning' },
    ...{ metric: 'guiche_webhook_endpoint_disabled_seconds', by: ['client', 'receiver'], above: 0 },
    ...{ fact: 'age', screen: '/webhooks?client={client}' },
  },
  report_undelivered: {
    ...{ rule: 'GuicheReportUndelivered', severity: 'warning' },
    ...{ metric: 'guiche_report_undelivered_seconds', by: ['client'], above: day, fact: 'age' },
    screen: '/month?client={client}',
  },
  event_sink_behind: {
    ...{ rule: 'GuicheEventSinkBehind', severity: 'warning' },
    ...{ metric: 'guiche_event_sink_lag_seconds', by: ['sink'], above: 5 * minute, fact: 'age' },
    screen: '/system',
  },
} satisfies Record<string, Condition>

export type AlertKind = keyof typeof conditions
export const alertKinds = Object.keys(conditions) as AlertKind[]
export const conditionOf = (kind: AlertKind): Condition => conditions[kind]

/** `subject`: its labels, as JSON. */
export type Met = { kind: AlertKind; subject: string; value: number }

/** `unread`: the conditions whose metric could not be read, with the error. */
export type Reading = { met: Met[]; unread: Map<AlertKind, unknown> }

/** The conditions that are met now, for each subject. */
export async function findMet(registry: Registry): Promise<Reading> {
  const met: Met[] = []
  const unread: Reading['unread'] = new Map()
  for (const kind of alertKinds) {
    const condition = conditionOf(kind)
    try {
      for (const [subject, value] of await readSubjects(registry, condition)) {
        const { above = Number.NEGATIVE_INFINITY, below = Number.POSITIVE_INFINITY } = condition
        if (value > above && value < below) met.push({ kind, subject, value: Math.round(value) })
      }
    } catch (error) {
      unread.set(kind, error)
    }
  }
  return { met, unread }
}

async function readSubjects(
  registry: Registry,
  { metric, where = {}, except = {}, by = [], combine, isAbsolute }: Condition,
): Promise<Map<string, number>> {
  const subjects = new Map<string, number>()
  // While the service starts, jobs run before all metrics are registered.
  for (const { labels, value } of (await registry.getSingleMetric(metric)?.get())?.values ?? []) {
    const label = (name: string) => String((labels as Record<string, string | number>)[name] ?? '')
    if (Object.entries(where).some(([name, one]) => label(name) !== one)) continue
    if (Object.entries(except).some(([name, some]) => some.includes(label(name)))) continue
    const subject = JSON.stringify(Object.fromEntries(by.map((name) => [name, label(name)])))
    const size = isAbsolute ? Math.abs(value) : value
    const before = subjects.get(subject)
    subjects.set(subject, before === undefined ? size : combinations[combine ?? 'max'](before, size))
  }
  return subjects
}

const combinations = {
  min: (one: number, other: number) => Math.min(one, other),
  max: (one: number, other: number) => Math.max(one, other),
  sum: (one: number, other: number) => one + other,
}
