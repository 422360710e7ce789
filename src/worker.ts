import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { Acquirers } from './acquirers/registry.ts'
import { openChannels } from './alerts/channels.ts'
import { alertJobs, alertSchedules } from './alerts/jobs.ts'
import { attributionJobs, attributionSchedules } from './attribution/jobs.ts'
import { type Inbox, startInbox } from './callbacks/inbox.ts'
import { observeInbox } from './callbacks/metrics.ts'
import { createCheckWriter } from './callbacks/process.ts'
import type { ReceiveDeps } from './callbacks/receive.ts'
import { releaseNoticesOf } from './callbacks/store.ts'
import { startBackground } from './db/background.ts'
import type { Db } from './db/sql.ts'
import { defenceJobs } from './defences/send.ts'
import { startJobs } from './jobs/jobs.ts'
import { observeJobs } from './jobs/metrics.ts'
import type { AlertSettings } from './lib/alert-settings.ts'
import type { Clock } from './lib/clock.ts'
import type { EventSinkSettings } from './lib/event-sink-settings.ts'
import type { SecretKey } from './lib/secrets.ts'
import { privacyJobs, privacySchedules } from './privacy/retention.ts'
import { observeReconciliation, reconciliationJobs, reconciliationSchedules } from './reconciliation/jobs.ts'
import { requestedRunJobs } from './reconciliation/requested-run.ts'
import { observeReports, reportJobSchedules, reportJobs, reportJobsOneAtOnce } from './reports/send.ts'
import { type Retention, retentionJobs, retentionSchedules } from './retention/jobs.ts'
import { sinkJobs } from './sinks/follow.ts'
import { suspenseJobs, suspenseSchedules } from './suspense/jobs.ts'
import { observeSuspense } from './suspense/metrics.ts'
import { observeDisputes } from './transactions/dispute/metrics.ts'
import { observeTransactions, transactionJobs, transactionSchedules } from './transactions/jobs.ts'
import { createSettlement } from './transactions/settle.ts'
import { loadTransactionVersions } from './transactions/view.ts'
import { observeVerification, verificationJobs, verificationSchedules } from './verification.ts'
import { type Deliveries, startDeliveries } from './webhooks/deliver.ts'
import { endpointJobs } from './webhooks/endpoints/jobs.ts'
import type { LoadRecords } from './webhooks/payload.ts'
import { releaseLeasesOf } from './webhooks/queue-store.ts'
import { observeWithdrawals, withdrawalJobs, withdrawalSchedules } from './withdrawals/jobs.ts'
import { loadWithdrawalVersions } from './withdrawals/view.ts'

export type WorkerDeps = {
  db: Db
  /** Created by `createInstance`. */
  instance: number
  clock: Clock
  key: SecretKey
  log: Logger
  registry: Registry
  acquirers: Acquirers
  webhookAllowPrivate: boolean
  retention: Retention & { personalDataDays: number | null }
  attributionThreshold: number | null
  /** For links in alerts. */
  baseUrl: string
  alerts: AlertSettings
  /** The message broker that gets all events. */
  eventSink: EventSinkSettings | null
}

export type Worker = {
  deliveries: Deliveries
  workOn: ReceiveDeps['workOn']
  /** The names of the jobs that are late if they wait for long. */
  timedJobs: string[]
  stop(): Promise<void>
}

/** Runs the work outside requests: jobs, the inbox of callbacks, webhook deliveries. Each process may run a worker. */
export async function startWorker(deps: WorkerDeps): Promise<Worker> {
  const { db, instance, clock, log, registry } = deps
  let deliveries: Deliveries | null = null
  let inbox: Inbox | null = null
  const wakeDeliveries = () => deliveries?.wake()
  const settlement = createSettlement({
    ...deps,
    deliveries: {
      wake: wakeDeliveries,
      reserve: (receiver) => deliveries?.reserve(receiver) ?? null,
      send: (...own) => deliveries?.send(...own),
    },
  })
  const settleDeps = { ...deps, settlement, wakeDeliveries }
  const background = startBackground(db, registry)
  const inBackground = { ...settleDeps, db: background.db }
  const channels = openChannels(deps.alerts, deps)
  const loadRecords: LoadRecords = {
    transaction: async (versions) => await loadTransactionVersions(db, versions),
    withdrawal: async (versions) => await loadWithdrawalVersions(db, versions),
  }
  const sinks = await sinkJobs({ ...deps, loadRecords }, deps.eventSink)
  const work = {
    ...transactionJobs(settleDeps, inBackground),
    ...defenceJobs(settleDeps),
    ...withdrawalJobs(settleDeps),
    ...suspenseJobs(deps),
    ...attributionJobs(inBackground),
    ...verificationJobs(inBackground),
    ...reconciliationJobs(inBackground),
    ...requestedRunJobs(inBackground),
    ...retentionJobs(inBackground),
    ...privacyJobs({ ...inBackground, ...deps.retention }),
    ...endpointJobs(settleDeps),
    ...alertJobs({ ...deps, language: deps.alerts.language, channels: channels.all }),
    ...reportJobs({ ...deps, mail: deps.alerts.mail }),
    ...sinks.jobs,
  }
  const jobs = await startJobs({
    db,
    instance,
    log,
    releaseLeases: async (tx, instances) => {
      const now = clock.now()
      await releaseNoticesOf(tx, { instances, now })
      await releaseLeasesOf(tx, { instances, now })
    },
    onReleased: () => {
      deliveries?.wake()
      inbox?.wake()
    },
    jobs: work,
    schedules: {
      ...transactionSchedules(settleDeps),
      ...withdrawalSchedules(deps),
      ...suspenseSchedules(deps),
      ...attributionSchedules,
      ...verificationSchedules,
      ...reconciliationSchedules,
      ...retentionSchedules,
      ...privacySchedules,
      ...alertSchedules,
      ...reportJobSchedules,
      ...sinks.schedules,
    },
    oneAtOnce: reportJobsOneAtOnce,
  })
  // After the jobs: now every other process can see that this one is alive.
  const started = startDeliveries({
    ...deps,
    allowPrivate: deps.webhookAllowPrivate,
    metrics: registry,
    loadRecords,
  })
  deliveries = started
  const startedInbox = startInbox({ ...settleDeps, writeCheck: createCheckWriter(db) })
  inbox = startedInbox
  // Reports wait for each other.
  const timedJobs = Object.keys(work).filter((name) => !reportJobsOneAtOnce.includes(name))
  observeJobs({ db, registry, timed: timedJobs })
  observeInbox({ ...deps })
  observeVerification({ db, clock, registry })
  observeSuspense({ db, clock, registry })
  observeWithdrawals({ db, clock, registry })
  observeTransactions({ db, registry })
  observeDisputes(deps)
  observeReports({ db, clock, registry })
  observeReconciliation({ db, clock, registry, acquirers: deps.acquirers.all })
  return {
    deliveries: started,
    workOn: startedInbox.workOn,
    timedJobs,
    async stop() {
      background.stop()
      await Promise.all([jobs.stop(), startedInbox.stop(), started.stop()])
      await channels.close()
    },
  }
}
