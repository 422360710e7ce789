import { chargeMutations } from './charge-mutations.ts'
import {
  breakerTest,
  edit,
  jobsTest,
  type Mutation,
  severalAcquirersTest,
  standbyTest,
  twoPersonsTest,
} from './mutation.ts'
import { operationMutations } from './operation-mutations.ts'

/**
 * Mutations outside of the path of a payment, such as the operator's money, disputes, strict requests, personal data,
 * the second person, jobs, a lost database and the standby.
 */
export const edgeMutations: Mutation[] = [
  ...chargeMutations,
  ...operationMutations,
  {
    name: 'the hash over the transfers of a day omits their amounts',
    edits: [
      edit('src/reconciliation/close-store.ts', 'debit, credit, amount, debit_balance', 'debit, credit, debit_balance'),
    ],
    caughtBy: 'src/reconciliation/close.test.ts',
  },
  {
    name: 'each partial refund returns its rounded share of the fee, whatever was returned before',
    edits: [
      edit('src/ledger/fees.ts', 'shareOf(payment.refunded + amount) - shareOf(payment.refunded)', 'shareOf(amount)'),
    ],
    caughtBy: 'test/e2e/operator-entries.test.ts',
  },
  {
    name: 'a refused refund keeps the fee that was returned with it',
    edits: [
      edit(
        'src/transactions/money.ts',
        "released('refund_released', amount, fee, feeReturned)",
        "released('refund_released', amount, fee)",
      ),
    ],
    caughtBy: 'test/e2e/operator-entries.test.ts',
  },
  {
    name: 'a database of simulated money serves real acquirers',
    edits: [edit('src/environment.ts', 'if (known === environment) return', 'if (known) return')],
    caughtBy: 'src/environment.test.ts',
  },
  {
    name: 'money is sent through an acquirer that never received it',
    edits: [
      edit(
        'src/withdrawals/create.ts',
        '(payable.get(name) ?? 0) >= amount',
        '(payable.get(name) ?? 0) <= amount * 1e9',
      ),
    ],
    caughtBy: severalAcquirersTest,
  },
  {
    name: 'all acquirers share one clearing account',
    edits: [
      edit('src/ledger/post.ts', 'const name = clearingAccount(acquirer)', "const name = clearingAccount('one')"),
    ],
    caughtBy: severalAcquirersTest,
  },
  {
    name: 'more fees are drawn than were earned',
    edits: [edit('src/entries/post.ts', 'if (spending.remaining === 0) return', 'if (spending.remaining >= 0) return')],
    caughtBy: 'test/e2e/operator-entries.test.ts',
  },
  {
    name: 'a pay-in does not repay the debt',
    edits: [
      edit(
        'src/ledger/transfers.ts',
        "{ kind: 'pay_in', debit: 'acquirer', credit: 'available', amount },\n    repayDebt(balances, amount),",
        "{ kind: 'pay_in', debit: 'acquirer', credit: 'available', amount },\n    repayDebt(balances, 0),",
      ),
    ],
    caughtBy: 'test/e2e/operator-entries.test.ts',
  },
  {
    name: 'fees that the operator drew freeze all payouts',
    edits: [edit('src/reconciliation/run.ts', 'await addEntries(db, side)', '')],
    caughtBy: 'src/reconciliation/run.test.ts',
  },
  {
    name: 'the last value of a repeated field is used',
    edits: [
      edit(
        'src/http/json-body.ts',
        'note(notes.duplicates, (path) => notes.duplicates.push(path))',
        'note(notes.duplicates, () => {})',
      ),
    ],
    caughtBy: 'test/e2e/create-transaction-body.test.ts',
  },
  {
    name: 'a number with more digits than a double is changed silently',
    edits: [edit('src/http/json-body.ts', 'return toDigits(text) !== toDigits(String(Number(text)))', 'return !text')],
    caughtBy: 'test/e2e/create-transaction-body.test.ts',
  },
  {
    name: 'the chain of the audit log does not include the previous entry',
    edits: [
      edit(
        'migrations/0011_audit_log.sql',
        "audit_entry_hash(coalesce(former.hash, ''), new)",
        "audit_entry_hash('', new)",
      ),
    ],
    caughtBy: 'src/audit/record.test.ts',
  },
  {
    name: 'an erased customer keeps the name',
    edits: [edit('src/privacy/store.ts', 'customer_search_name = null,', '')],
    caughtBy: 'test/e2e/personal-data.test.ts',
  },
  {
    name: 'a discrepancy that the acquirer’s data resolves waits for a person',
    edits: [edit('src/reconciliation/jobs.ts', 'await settleOpen(deps, { acquirer: acquirer.name, stopping })', '')],
    caughtBy: 'src/reconciliation/run.test.ts',
  },
  {
    name: 'a return of an older payment is not read',
    edits: [
      edit(
        'src/transactions/dispute/poll-returns.ts',
        'const returnableMs = 90 * dayMs',
        'const returnableMs = 3 * dayMs',
      ),
    ],
    caughtBy: 'test/e2e/dispute-unannounced.test.ts',
  },
  {
    name: 'a dispute that the acquirer canceled has an unknown status',
    edits: [edit('src/acquirers/bacen/disputes.ts', "['cancelad', 'canceled']", "['cancelad', 'unknown']")],
    caughtBy: 'src/acquirers/bacen/money-out-answers.test.ts',
  },
  {
    name: 'a partial return ends an open dispute',
    edits: [
      edit(
        'src/transactions/dispute/steps.ts',
        'if (dispute.returned_amount === dispute.amount) return true',
        'if (dispute.returned_amount > 0) return true',
      ),
    ],
    caughtBy: 'test/e2e/dispute-unannounced.test.ts',
  },
  {
    name: 'the dispute of a payment in suspense is forgotten when it is attributed',
    edits: [edit('src/transactions/settle.ts', 'if (!entry.inSuspense) continue', 'if (entry) continue')],
    caughtBy: 'test/e2e/unattributed.test.ts',
  },
  {
    name: 'a second dispute blocks nothing',
    edits: [
      edit(
        'src/transactions/dispute/steps.ts',
        'disputes.filter(isUndecided).map(',
        'disputes.slice(0, 1).filter(isUndecided).map(',
      ),
    ],
    caughtBy: 'test/e2e/dispute.test.ts',
  },
  {
    name: 'a dispute that an operator entered for a part blocks no more than that part',
    edits: [
      edit(
        'src/transactions/dispute/dispute.ts',
        'Math.max(dispute.amount, Math.min(found.amount || remaining, remaining))',
        'Math.max(dispute.amount, Math.min(dispute.amount, remaining))',
      ),
    ],
    caughtBy: 'test/e2e/dispute.test.ts',
  },
  {
    name: 'a payment leaves its disputes behind when its attribution is reversed',
    edits: [edit('src/attribution/reverse.ts', 'await clearReferences(tx, row)', '')],
    caughtBy: 'test/e2e/unattributed-reversal.test.ts',
  },
  {
    name: 'blocked money is released while its return is in process',
    edits: [
      edit(
        'src/transactions/dispute/dispute.ts',
        '(current.returned_amount === 0 || isUnderWay(payment))',
        'current.returned_amount === 0',
      ),
    ],
    caughtBy: 'src/transactions/dispute/poll.test.ts',
  },
  {
    name: 'a dispute is entered although its payment was attributed elsewhere',
    edits: [
      edit(
        'src/transactions/dispute/dispute.ts',
        'if (isAttributionReversed(await listRefunds(tx, row))) return false',
        '',
      ),
    ],
    caughtBy: 'test/e2e/unattributed-reversal.test.ts',
  },
  {
    name: 'a return that an operator has corrected is posted again once it is under MED',
    edits: [edit('src/transactions/dispute/returns.ts', ' - correctedOf({ payment, posted, refunds })', '')],
    caughtBy: 'test/e2e/dispute-unannounced.test.ts',
  },
  {
    name: 'a list of disputes that was never read has no age',
    edits: [edit('src/transactions/dispute/metrics.ts', '?? notOfferedAt ?? startedAt', '?? notOfferedAt')],
    caughtBy: 'src/transactions/dispute/poll.test.ts',
  },
  {
    name: 'an entry that cannot be read is skipped',
    edits: [edit('src/reconciliation/run.ts', 'await keepUnreadable(deps, run, tally)', '')],
    caughtBy: 'src/reconciliation/run.test.ts',
  },
  {
    name: 'failed refunds count against the limit',
    edits: [
      edit(
        'src/transactions/refund/refund.ts',
        "const notFailed = refunds.filter(({ status }) => status !== 'FAILED')",
        'const notFailed = refunds',
      ),
    ],
    caughtBy: 'test/e2e/refund.test.ts',
  },
  {
    name: 'a charge that is CONCLUIDA expires',
    edits: [edit('src/transactions/settle.ts', "if (statuses.includes('completed')) return 'completed'", '')],
    caughtBy: 'src/transactions/check.test.ts',
  },
  {
    name: 'a return that was refused for a temporary reason is not sent again',
    edits: [edit('src/suspense/send-back.ts', 'retryPausesMs[attempts - 1]', 'retryPausesMs[99]')],
    caughtBy: 'test/e2e/duplicate.test.ts',
  },
  {
    name: 'the creator of a client secret approves requests made with it',
    edits: [
      edit(
        'src/proposals/second-person.ts',
        'if (secretCreators.some((maker) => isSamePerson(maker, by)))',
        'if (!by)',
      ),
    ],
    caughtBy: twoPersonsTest,
  },
  {
    name: 'a double click proposes twice',
    edits: [
      edit(
        'src/proposals/propose.ts',
        'canonicalJson(open.content) === canonicalJson(content)',
        'open.content === content',
      ),
    ],
    caughtBy: twoPersonsTest,
  },
  {
    name: 'one person raises a limit',
    edits: [
      edit('src/withdrawals/change-limits.ts', 'return from !== null && (to === null || to > from)', 'return false'),
    ],
    caughtBy: twoPersonsTest,
  },
  {
    name: 'a reset skips the second factor',
    edits: [
      edit('src/users/accept.ts', 'if (invitation.user_id !== null && invitation.needs_code) {', 'if (!invitation) {'),
    ],
    caughtBy: 'test/e2e/signing-in.test.ts',
  },
  {
    name: 'a job that failed is done',
    edits: [
      edit(
        'src/jobs/runner.ts',
        'if (failure === null || recurring.includes(name)) await',
        'if (failure !== undefined || recurring.includes(name)) await',
      ),
    ],
    caughtBy: jobsTest,
  },
  {
    name: 'what a dead process had leased waits for the end of the lease',
    edits: [
      edit('src/callbacks/store.ts', 'and leased_by = any (', 'and leased_by <> all ('),
      edit('src/webhooks/queue-store.ts', 'and leased_by = any (', 'and leased_by <> all ('),
    ],
    caughtBy: 'test/e2e/two-processes.test.ts',
  },
  {
    name: 'a job that this process still runs is claimed again',
    edits: [edit('src/jobs/store.ts', ') and id <> all (', ') and 0 <> all (')],
    caughtBy: jobsTest,
  },
  {
    name: 'a waiting job keeps its former payload',
    edits: [edit('src/jobs/store.ts', 'payload = excluded.payload, run_at', 'run_at')],
    caughtBy: jobsTest,
  },
  {
    name: 'the jobs of a dead process stay claimed',
    edits: [edit('src/jobs/store.ts', 'where locked_by = any (', 'where locked_by <> all (')],
    caughtBy: jobsTest,
  },
  {
    name: 'an event is sent before the earlier one of its record was delivered',
    edits: [edit('src/webhooks/store.ts', "          then 'waiting'\n", "          then 'pending'\n")],
    caughtBy: 'src/webhooks/deliver-many.test.ts',
  },
  {
    name: 'during a rotation only the former secret signs',
    edits: [edit('src/webhooks/sign.ts', 'secrets.map((secret) =>', 'secrets.slice(-1).map((secret) =>')],
    caughtBy: 'src/webhooks/deliver.test.ts',
  },
  {
    name: 'an acquirer that does not answer gets every request',
    edits: [edit('src/acquirers/breaker.ts', 'if (isPausing())', 'if (performance.now() < 0)')],
    caughtBy: breakerTest,
  },
  {
    name: 'an acquirer that refuses counts as one that does not answer',
    edits: [
      edit(
        'src/acquirers/breaker.ts',
        "if (state.mode === 'CLOSED' && error instanceof AcquirerUnavailable)",
        "if (state.mode === 'CLOSED')",
      ),
    ],
    caughtBy: breakerTest,
  },
  {
    name: 'a correction is posted for a discrepancy that no longer exists',
    edits: [edit('src/reconciliation/decide.ts', 'return await assertStillDiffers(deps, difference)', 'return')],
    caughtBy: 'src/reconciliation/run.test.ts',
  },
  {
    name: 'a database that went back in time is not noticed',
    edits: [edit('src/database-mark.ts', 'row.counter < known.counter', 'row.counter < 0')],
    caughtBy: 'test/e2e/database-older.test.ts',
  },
  {
    name: 'the loss of a single transaction is not noticed',
    edits: [edit('src/ledger/mark-store.ts', "= 'aborted', false)", "= 'aborted' and false, false)")],
    caughtBy: 'test/e2e/database-older.test.ts',
  },
  {
    name: 'a service remembers no transaction that it has acknowledged',
    edits: [edit('src/db/sql.ts', '      note(xid)\n', '')],
    caughtBy: 'test/e2e/database-older.test.ts',
  },
  {
    name: 'a payment of another cell is placed in suspense',
    edits: [
      edit('src/suspense/other-cell.ts', 'payments.filter(({ endToEndId }) => !stored.has(endToEndId))', 'payments'),
    ],
    caughtBy: 'test/e2e/cells.test.ts',
  },
  {
    name: 'a balance arrives from another cell each time that its document is read',
    edits: [
      edit('src/entries/propose.ts', 'id, idempotencyKey: `move:${id}`', 'idempotencyKey: `move:${proposal.id}`'),
    ],
    caughtBy: 'test/e2e/cells-move.test.ts',
  },
  {
    name: 'a transaction that PostgreSQL rolled back counts as committed',
    edits: [edit('src/db/sql.ts', 'client.query(commitWithXid)', "client.query('commit')")],
    caughtBy: 'src/db/outage.test.ts',
  },
  {
    name: 'a standby that is behind answers a list',
    edits: [edit('src/standby.ts', ' && server.lsn >= committed.lsn', '')],
    caughtBy: standbyTest,
  },
  {
    name: 'a list is answered on a connection to a standby that is behind',
    edits: [
      edit('src/standby.ts', 'hasAll(position.value, committed) ? found.value : null', 'position.value && found.value'),
    ],
    caughtBy: standbyTest,
  },
  {
    name: 'a promoted copy answers a list',
    edits: [edit('src/standby.ts', 'return server.started_at === committed.started_at', 'return true')],
    caughtBy: standbyTest,
  },
  {
    name: 'a request fails because the standby died',
    edits: [edit('src/standby.ts', 'if (why === null) throw error', 'if (why !== null) throw error')],
    caughtBy: standbyTest,
  },
]
