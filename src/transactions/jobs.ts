import { Gauge, type Registry } from 'prom-client'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { Db } from '../db/sql.ts'
import type { Job, JobSchedule } from '../jobs/jobs.ts'
import { checkDueTransactions } from './check.ts'
import {
  checkReturns,
  hasSimulatedDisputes,
  pollDisputes,
  pollDisputesJob,
  pollSimulatedDisputesJob,
} from './dispute/poll.ts'
import { pollReturns } from './dispute/poll-returns.ts'
import { checkReturnsJob } from './dispute/returns.ts'
import { foldChanges, hasChangesToFold } from './list/count-store.ts'
import { verifyCountsDaily } from './list/counts.ts'
import { writeMinuteTotals } from './list/minutes.ts'
import { countAllNames, verifyNamesDaily } from './list/names.ts'
import { pollPayments, settleJob, settleListedPayment } from './poll.ts'
import { sendRefundJob } from './refund/refund.ts'
import { checkDueRefunds, sendRefund } from './refund/send.ts'
import { isRefundDue } from './refund/store.ts'
import type { SettleDeps } from './settle.ts'
import { settleListedUnattributed, settleUnattributedJob } from './settle-unattributed.ts'
import { countOpenLate, isTransactionDue } from './store.ts'

const PaymentPayload = Type.Object({ acquirer: Type.String(), endToEndId: Type.String() })
const SettlePayload = Type.Object({ merchantId: Type.String(), id: Type.String(), reported: PaymentPayload })
const KeyPayload = Type.Object({ merchantId: Type.String(), id: Type.String() })

/** An outage of an acquirer can leave any number of charges open. */
const openLateMax = 1_000

/**
 * The worker's jobs for transactions.
 *
 * @param inBackground the same, with a `Db` that gives way to requests, for jobs that nobody waits for
 */
export function transactionJobs(deps: SettleDeps, inBackground: SettleDeps): Record<string, Job> {
  return {
    'transactions.check': async (_, stopping) => await checkDueTransactions(deps, stopping, inBackground),
    // A job of its own: a check runs until nothing is due, and refunds must not wait behind charges that expire.
    'transactions.check-refunds': async (_, stopping) => await checkDueRefunds(inBackground, stopping),
    'transactions.poll': async (_, stopping) => await pollPayments(inBackground, stopping),
    'transactions.poll-returns': async (_, stopping) => await pollReturns(inBackground, stopping),
    [pollDisputesJob]: async (_, stopping) => await pollDisputes(inBackground, stopping),
    [pollSimulatedDisputesJob]: async (_, stopping) =>
      await pollDisputes(inBackground, stopping, { isLocalOnly: true }),
    'transactions.fold-counts': async (_, stopping) => await foldChanges(inBackground.db, stopping),
    'transactions.verify-counts': async (_, stopping) => await verifyCountsDaily(inBackground, stopping),
    'transactions.count-names': async (_, stopping) => await countAllNames(inBackground, stopping),
    'transactions.verify-names': async (_, stopping) => await verifyNamesDaily(inBackground, stopping),
    'transactions.count-minutes': async (_, stopping) => await writeMinuteTotals(inBackground, stopping),
    [sendRefundJob]: async (payload) => await sendRefund(deps, Value.Parse(KeyPayload, payload)),
    [checkReturnsJob]: async (payload) => await checkReturns(deps, Value.Parse(KeyPayload, payload)),
    [settleJob]: async (payload) => {
      await settleListedPayment(deps, Value.Parse(SettlePayload, payload))
    },
    [settleUnattributedJob]: async (payload) =>
      await settleListedUnattributed(deps, Value.Parse(PaymentPayload, payload)),
  }
}

export function observeTransactions({ db, registry }: { db: Db; registry: Registry }): void {
  new Gauge({
    name: 'guiche_charges_open_late',
    help: 'Charges that are open an hour after they expired, because an acquirer calls them paid and does not show the payment, or does not answer; at most 1,000',
    aggregator: 'max',
    registers: [registry],
    async collect() {
      this.set(await countOpenLate(db, openLateMax))
    },
  })
}

export function transactionSchedules(deps: SettleDeps): Record<string, JobSchedule> {
  const { db, clock } = deps
  return {
    'transactions.check': { everySeconds: 5, isNeeded: async () => await isTransactionDue(db, clock.now()) },
    'transactions.check-refunds': { everySeconds: 5, isNeeded: async () => await isRefundDue(db, clock.now()) },
    'transactions.poll': { everySeconds: 15 },
    'transactions.poll-returns': { everySeconds: 300 },
    [pollDisputesJob]: { everySeconds: 30 },
    [pollSimulatedDisputesJob]: { everySeconds: 2, isNeeded: async () => await hasSimulatedDisputes(deps) },
    // A list adds the changes that are not folded yet. At 300 batches a second of one merchant these are 1,500 rows,
    // which take a third of a millisecond.
    'transactions.fold-counts': { everySeconds: 5, isNeeded: async () => await hasChangesToFold(db) },
    // How often to check whether the daily run is due.
    'transactions.verify-counts': { everySeconds: 3_600 },
    // A list by name reads the transactions that are not counted yet, of three minutes at most: 9 ms, at 500 a second.
    'transactions.count-names': { everySeconds: 60 },
    'transactions.verify-names': { everySeconds: 3_600 },
    // How often to check whether a day is over.
    'transactions.count-minutes': { everySeconds: 60 },
  }
}
