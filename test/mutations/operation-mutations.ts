import { edit, feedTest, jobsTest, type Mutation, payoutsPspIdsTest } from './mutation.ts'

const sandboxTest = 'test/e2e/sandbox-controls.test.ts'

/**
 * Mutations of the operation, such as the payout freeze, alerts, the event feed, sign-in, webhooks, background work and
 * the sandbox.
 */
export const operationMutations: Mutation[] = [
  {
    name: 'the position of a message broker moves past events that it has not acknowledged',
    edits: [
      edit(
        'src/sinks/follow.ts',
        "throw new NotAcknowledged('the broker did not acknowledge', { cause })",
        'void cause',
      ),
    ],
    caughtBy: 'test/e2e/event-sinks.test.ts',
  },
  {
    name: 'an alert is sent at every check while it lasts',
    edits: [
      edit(
        'src/alerts/jobs.ts',
        'now.getTime() - reportedAt.getTime() >= remindAfterMs',
        'now.getTime() >= reportedAt.getTime()',
      ),
    ],
    caughtBy: 'test/e2e/alerts.test.ts',
  },
  {
    name: 'nobody is notified that an alert has ended',
    edits: [edit('src/alerts/jobs.ts', '{ ...report(row), ended_at: now }', '{ ...row, ended_at: now }')],
    caughtBy: 'test/e2e/alerts.test.ts',
  },
  {
    name: 'payouts are released after a loss of the database without the checks',
    edits: [edit('src/ledger/payout-freeze.ts', '    assertChecked(view, isChecked)\n', '')],
    caughtBy: 'test/e2e/database-older.test.ts',
  },
  {
    name: 'a withdrawal whose id at the acquirer the database has lost is sent again',
    edits: [
      edit(
        'src/acquirers/bacen/payout-sicoob.ts',
        'if (!reference && isReferenceLost)',
        'if (!reference && !payoutId)',
      ),
      edit('src/acquirers/bacen/payout-sicoob.ts', '{ reference, isReferenceLost }', '{ reference, payoutId }'),
    ],
    caughtBy: payoutsPspIdsTest,
  },
  {
    name: 'a return is sent although its payment is disputed',
    edits: [edit('src/payouts/attempt.ts', 'if (await payment.isDisputed())', 'if (deps === null)')],
    caughtBy: 'test/e2e/refund-unknown.test.ts',
  },
  {
    name: 'a loss of the database freezes nothing when the active freeze is released at the same time',
    edits: [
      edit(
        'src/ledger/payout-freeze.ts',
        'while (!isNew && !(await addFreezeReason(tx, freeze.reason))) isNew = await freezePayouts(tx, freeze)',
        'if (!isNew) await addFreezeReason(tx, freeze.reason)',
      ),
    ],
    caughtBy: 'src/ledger/payout-freeze.test.ts',
  },
  {
    name: 'money that left and is not in the ledger is not added to the reason of an active freeze',
    edits: [
      edit('src/reconciliation/save.ts', 'import { freezePayoutsAlso,', 'import { freezePayouts,'),
      edit('src/reconciliation/save.ts', 'await freezePayoutsAlso(tx', 'await freezePayouts(tx'),
    ],
    caughtBy: 'src/reconciliation/run.test.ts',
  },
  {
    name: 'payouts are not frozen when the database went back in time',
    edits: [
      edit(
        'src/database-mark.ts',
        'await freezePayoutsAlso(tx, { reason: writeLossReason(lastMarkAt.toISOString()), by: byService, now })',
        '',
      ),
    ],
    caughtBy: 'test/e2e/database-older.test.ts',
  },
  {
    name: 'a commit that no standby confirms is waited for',
    edits: [edit('src/db/watched-pool.ts', "wait_event = 'SyncRep'", "wait_event = 'none'")],
    caughtBy: 'test/e2e/database-away.test.ts',
  },
  {
    name: 'a job is never run when the answer to its claim was lost',
    edits: [edit('src/jobs/runner.ts', 'performance.now() < doubtEndsAt', 'false')],
    caughtBy: jobsTest,
  },
  {
    name: 'a sign-in at the provider is not bound to the state of its browser',
    edits: [
      edit(
        'src/users/oidc.ts',
        'expectedState: pending.state,',
        "expectedState: new URLSearchParams(query).get('state') ?? pending.state,",
      ),
    ],
    caughtBy: 'test/e2e/oidc-sign-in.test.ts',
  },
  {
    name: 'a role that the identity provider has taken away stays',
    edits: [edit('src/users/oidc-sign-in.ts', 'if (known) await withdrawAccess(tx, known, now)', '')],
    caughtBy: 'test/e2e/oidc-sign-in.test.ts',
  },
  {
    name: 'an event whose transaction commits late gets no number',
    edits: [
      edit('src/webhooks/feed-store.ts', 'findNew(sql`xid = any (array', 'findNew(sql`false and xid = any (array'),
    ],
    caughtBy: feedTest,
  },
  {
    name: 'the events of a record are numbered in the order of their transactions’ ids',
    edits: [
      edit(
        'src/webhooks/feed-store.ts',
        'min(xid) over (partition by record_id order by sequence desc rows unbounded preceding) as place',
        'xid as place',
      ),
    ],
    caughtBy: feedTest,
  },
  {
    name: 'a position of another merchant, or of a database that was restored, is accepted',
    edits: [edit('src/webhooks/feed.ts', 'if (position !== after) throw positionUnknown()', '')],
    caughtBy: 'test/e2e/event-feed.test.ts',
  },
  {
    name: 'the sandbox clock moves the charges of every merchant',
    edits: [
      edit(
        'src/sandbox/clock-store.ts',
        '  merchant_id = ${merchantId} and check_at > ${new Date(',
        '  ${merchantId}::uuid is not null and check_at > ${new Date(',
      ),
    ],
    caughtBy: sandboxTest,
  },
  {
    name: 'the sandbox clock ends the lease of a payout that is being sent',
    edits: [edit('src/sandbox/clock-store.ts', 'new Date(now.getTime() + payoutMarginMs)', 'now')],
    caughtBy: sandboxTest,
  },
  {
    name: 'a page of another site creates charges in the sandbox',
    edits: [
      edit('src/pay/sample.ts', "if (!isFromOwnPage(request, baseUrl)) throw new AppError('csrf_token_missing')", ''),
    ],
    caughtBy: 'test/e2e/pay-page.test.ts',
  },
  {
    name: 'an event goes to the webhook endpoints of another merchant',
    edits: [edit('src/webhooks/store.ts', 'where merchant_id = event.merchant_id and', 'where')],
    caughtBy: 'src/webhooks/endpoints/endpoints.test.ts',
  },
  {
    name: 'what waits for a deleted webhook endpoint is sent there',
    edits: [edit('src/webhooks/prepare.ts', '!endpoint.isActive || ', '')],
    caughtBy: 'src/webhooks/endpoints/endpoints.test.ts',
  },
  {
    name: 'a transaction that was fetched before is shown as it was then',
    edits: [edit('src/transactions/fetch.ts', '(await findVersion(key))?.version === known.version', 'true')],
    caughtBy: 'test/e2e/fetch-transaction.test.ts',
  },
  {
    name: 'a refund is missing from a payment that was fetched before',
    edits: [edit('src/transactions/fetch.ts', "status === 'PIX_QRCODE_GENERATED' && ", '')],
    caughtBy: 'test/e2e/fetch-transaction.test.ts',
  },
  {
    name: 'deliveries to a receiver that hangs are sent from memory',
    edits: [edit('src/webhooks/budget.ts', '!state || state.window < initialWindow ||', '!state ||')],
    caughtBy: 'src/webhooks/budget.test.ts',
  },
  {
    name: 'the delivery of a creation that failed holds the capacity of its receiver',
    edits: [edit('src/transactions/insert.ts', '    send([], [])\n', '')],
    caughtBy: 'src/webhooks/own.test.ts',
  },
  {
    name: 'a delivery that is sent from memory is not leased',
    edits: [
      edit(
        'src/webhooks/store.ts',
        'coalesce("leasedUntil", "occurredAt"), "occurredAt"',
        '"occurredAt", "occurredAt"',
      ),
    ],
    caughtBy: 'src/webhooks/own.test.ts',
  },
  {
    name: 'a delivery that is sent from memory shows what was not stored',
    edits: [
      edit(
        'src/transactions/insert.ts',
        'cancel_requested_at: null }',
        "cancel_requested_at: null, description: 'another' }",
      ),
    ],
    caughtBy: 'src/webhooks/own.test.ts',
  },
  {
    name: 'the delivery of a payment that was not recorded holds the capacity of its receiver',
    edits: [edit('src/webhooks/own-events.ts', '    send(false)\n', '')],
    caughtBy: 'src/webhooks/own.test.ts',
  },
  {
    name: 'the webhook of a payment leaves before the earlier one of its record was delivered',
    edits: [edit('src/webhooks/store.ts', "leased_by is not null and state = 'waiting')", 'false)')],
    caughtBy: 'src/webhooks/own.test.ts',
  },
  {
    name: 'the webhook of a payment shows its transaction as it was before',
    edits: [edit('src/transactions/settle.ts', '{ ...entry.createdRow, ...row }', '{ ...row, ...entry.createdRow }')],
    caughtBy: 'src/webhooks/own.test.ts',
  },
  {
    name: 'background work does not give way to requests',
    edits: [edit('src/db/background.ts', '(1 / currentShare() - 1)', '0')],
    caughtBy: 'src/db/background.test.ts',
  },
  {
    name: 'background work takes all connections',
    edits: [edit('src/db/background.ts', 'running >= atOnceMax && ', 'false && ')],
    caughtBy: 'src/db/background.test.ts',
  },
  {
    name: 'a name that was erased is still counted',
    edits: [edit('migrations/0029_customer_names.sql', 'set count = count - 1', 'set count = count')],
    caughtBy: 'src/transactions/list/names.test.ts',
  },
  {
    name: 'a transaction that becomes visible late is missing in lists by name',
    edits: [
      edit('migrations/0029_customer_names.sql', 'if present - later = counted.transactions then', 'if true then'),
    ],
    caughtBy: 'src/transactions/list/names.test.ts',
  },
  {
    name: 'a transaction is committed although its last statement was not sent',
    edits: [edit('src/db/sql.ts', 'if (sentCount === countBefore)', 'if (sentCount < countBefore)')],
    caughtBy: 'src/db/sql.test.ts',
  },
  {
    name: 'a transaction does not say why its last statement failed',
    edits: [
      edit('src/db/sql.ts', 'pipelined(commit(client), ...lasts)', 'pipelined(commit(client))'),
      edit('src/db/sql.ts', 'pipelined(Promise.reject(thrown), ...lasts)', 'pipelined(Promise.reject(thrown))'),
    ],
    caughtBy: 'src/db/sql.test.ts',
  },
]
