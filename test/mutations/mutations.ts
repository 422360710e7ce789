import { edgeMutations } from './edge-mutations.ts'
import { edit, type Mutation, payoutsPspIdsTest, reconciliationTest, severalAcquirersTest } from './mutation.ts'

/** Faults, each of which a test must catch: those in the handling of money, and those of edge-mutations.ts. */
export const mutations: Mutation[] = [
  {
    name: 'the fee is not reserved',
    edits: [
      edit('src/ledger/transfers.ts', "credit: 'reserved', amount: amount + fee }]", "credit: 'reserved', amount }]"),
    ],
  },
  {
    name: 'incoming money does not repay a debt',
    edits: [edit('src/ledger/transfers.ts', 'amount: upTo(-balances.debt, amount) }', 'amount: 0 }')],
  },
  {
    name: 'percentage fees are truncated, not rounded half up',
    edits: [edit('src/ledger/fees.ts', '+ 5_000) /', '+ 0) /')],
  },
  {
    name: 'the accounts are not locked',
    edits: [edit('src/ledger/store.ts', 'account for no key update', 'account')],
  },
  {
    name: 'payments that are posted together all see the balances from before the first of them',
    edits: [
      edit(
        'src/ledger/post.ts',
        'applyPosting(posting, locked)',
        'applyPosting(posting, { ...locked, balances: { ...locked.balances } })',
      ),
    ],
    caughtBy: 'src/ledger/post.test.ts',
  },
  {
    name: 'only the database checks for an overdraft',
    edits: [edit('src/ledger/post.ts', 'if (balances.available < 0) throw insufficientBalance()', '')],
  },
  {
    name: 'the payout freeze is ignored',
    edits: [edit('src/ledger/payout-freeze.ts', 'if ((await findPayoutFreeze(db)) === null) return', 'if (db) return')],
  },
  {
    name: 'the payout freeze is not checked again before an outgoing payment is sent',
    edits: [edit('src/payouts/attempt.ts', 'await assertPayoutsAllowed(deps.db)', '')],
  },
  {
    name: 'a payment is posted with the amount of the charge',
    edits: [
      edit(
        'src/transactions/settle.ts',
        'const { amount } = confirmed.payment',
        'const { amount } = confirmed.charge ?? confirmed.payment',
      ),
    ],
  },
  {
    name: 'the payment that a callback names is trusted without a query for it',
    edits: [
      edit(
        'src/transactions/settle.ts',
        'await acquirer.findPayment(hint)',
        '{ endToEndId: hint, txid: toTxid(id), amount: 100, paidAt: new Date(0), payer: null, returns: [], fee: null }',
      ),
    ],
  },
  {
    name: 'the sum of refunds is not checked',
    edits: [
      edit(
        'src/transactions/refund/refund.ts',
        'if (amount === undefined || amount <= left)',
        'if (amount === undefined || left > 0)',
      ),
    ],
  },
  {
    name: 'the reserved money of a refund is released when the acquirer does not answer',
    edits: [
      edit(
        'src/payouts/attempt.ts',
        'await wait(deps, payment, { blockedBy: explain(deps, payment, error) })',
        `if ('refundId' in payment.log) await payment.record({ outcome: 'refused', reason: 'no answer' }, false)
    else await wait(deps, payment)`,
      ),
    ],
  },
  {
    name: 'the reserved money of a refund is released after the refund was sent',
    edits: [
      edit(
        'src/transactions/refund/send.ts',
        'await postRefund(tx, refund, { status, acquirer: row.acquirer, now })',
        `await postRefund(tx, refund, { status, acquirer: row.acquirer, now })
    if (isDone) await postRefund(tx, refund, { status: 'FAILED', acquirer: row.acquirer, now })`,
      ),
    ],
  },
  {
    name: 'an event may be posted twice, and the state of a refund is not checked under the lock',
    edits: [
      edit(
        'migrations/0006_ledger.sql',
        'constraint ledger_posted_once unique (merchant_id, event_key, position),',
        '',
      ),
      edit('src/transactions/refund/send.ts', 'if (!isFirst) return false', ''),
    ],
    caughtBy: 'test/e2e/inconsistent-psp.test.ts',
  },
  {
    name: 'a refund has another id at each try',
    edits: [
      edit('src/transactions/refund/send.ts', 'refundId = toTxid(refund.id)', 'refundId = toTxid(crypto.randomUUID())'),
    ],
  },
  {
    name: 'a dispute blocks money that is being refunded',
    edits: [
      edit(
        'src/transactions/dispute/steps.ts',
        "leftOf(row, refunds, 'REFUNDED', 'PROCESSING')",
        "leftOf(row, refunds, 'REFUNDED')",
      ),
    ],
  },
  {
    name: 'a return under MED is posted as often as it is reported',
    edits: [
      edit(
        'src/transactions/dispute/returns.ts',
        'sumOf(returns) - sumOf(underMed)',
        'sumOf(returns) - 0 * sumOf(underMed)',
      ),
    ],
  },
  {
    name: 'the reserved money of a withdrawal is released when the acquirer does not answer',
    edits: [
      edit(
        'src/payouts/attempt.ts',
        'await wait(deps, payment, { blockedBy: explain(deps, payment, error) })',
        `if ('withdrawalId' in payment.log) await payment.record({ outcome: 'refused', reason: 'no answer' }, false)
    else await wait(deps, payment)`,
      ),
    ],
  },
  {
    name: 'the refusal of a repeat counts although the first request may still be in process',
    edits: [edit('src/payouts/attempt.ts', 'now.getTime() - requestedAt.getTime() < underWayMs', 'false')],
    caughtBy: 'test/e2e/inconsistent-psp.test.ts',
  },
  {
    name: 'a refusal is final although the same money was requested again in the meantime',
    edits: [
      edit('src/payouts/attempt.ts', 'one?.getTime() === other?.getTime()', 'true || one === other'),
      edit('src/transactions/refund/store.ts', 'or requested_at = ${end.refusedRequest})', 'or true)'),
    ],
    caughtBy: 'test/e2e/inconsistent-psp.test.ts',
  },
  {
    name: 'a payout has another id at each try',
    edits: [
      edit('src/withdrawals/send.ts', 'payoutId: toTxid(id), amount', 'payoutId: toTxid(crypto.randomUUID()), amount'),
    ],
  },
  {
    name: 'an empty list that is answered with 404 counts as a refusal',
    edits: [edit('src/acquirers/bacen/pages.ts', 'isProblem(answer.body) && !isPageCounted', 'isPageCounted')],
    caughtBy: 'src/acquirers/dialects.test.ts',
  },
  {
    name: 'the id that Sicoob gives a payout is not stored before the confirmation',
    edits: [
      edit(
        'src/withdrawals/send.ts',
        'reference = await insertReference(deps.db, row, prepared.reference)',
        'reference = prepared.reference',
      ),
    ],
    caughtBy: payoutsPspIdsTest,
  },
  {
    name: 'each request to Inter for a payout has another key',
    edits: [edit('src/acquirers/bacen/payout-inter.ts', 'toUuid(payoutId) },', 'crypto.randomUUID() },')],
    caughtBy: payoutsPspIdsTest,
  },
  {
    name: 'the refusal of a repeat counts at Inter although the first answer was lost',
    edits: [
      edit(
        'src/acquirers/bacen/payout-inter.ts',
        'if (!answer.ok && firstRequestedAt)',
        'if (!answer.ok && !answer.status)',
      ),
    ],
    caughtBy: payoutsPspIdsTest,
  },
  {
    name: 'the payout is sent to the bank before PROCESSING is committed',
    edits: [
      edit(
        'src/withdrawals/send.ts',
        'const checkAt = new Date(now.getTime() + sendLeaseMs)',
        `const checkAt = new Date(now.getTime() + sendLeaseMs)
  const pixKey = { key: row.pix_key, type: row.pix_key_type }
  await payoutsOf(deps, row).send({ payoutId: toTxid(row.id), amount: cents(row.amount), pixKey }).catch(() => {})`,
      ),
    ],
    caughtBy: 'src/withdrawals/cut.test.ts',
  },
  {
    name: 'a duplicate withdrawal is sent while it is pending review',
    edits: [
      edit('src/withdrawals/create.ts', 'if (row.review_reason === null) await enqueueSend', 'await enqueueSend'),
      edit('src/withdrawals/send.ts', 'row.review_reason !== null || ', ''),
    ],
  },
  {
    name: 'duplicate withdrawals are not put under review',
    edits: [edit('src/withdrawals/limits.ts', 'if (windowMs > 0 &&', 'if (windowMs < 0 &&')],
  },
  {
    name: 'the status is not checked again under the lock when a payout is posted',
    edits: [
      edit(
        'src/withdrawals/settle.ts',
        "locked.status === 'PROCESSING' ? await moveFromProcessing",
        'locked.id ? await moveFromProcessing',
      ),
    ],
  },
  {
    name: 'each partial return of a payout is posted in full',
    edits: [edit('src/withdrawals/settle.ts', 'amount - (await sumReturned(tx, row))', 'amount')],
  },
  {
    name: 'a change of a withdrawal enqueues no event',
    edits: [edit('src/withdrawals/change.ts', 'enqueueEvents(tx, [toEvent(changed)])', 'toEvent(changed)')],
  },
  {
    name: 'a reused idempotency key returns the first withdrawal even if the content differs',
    edits: [
      edit('src/withdrawals/create.ts', "if (fields.length > 0) throw idempotencyKeyReused(fields, 'withdrawal')", ''),
    ],
  },
  {
    name: 'a duplicate payment is returned under another id at each try',
    edits: [edit('src/suspense/send-back.ts', 'refundId = toTxid(returnId)', 'refundId = toTxid(crypto.randomUUID())')],
    caughtBy: 'test/e2e/duplicate.test.ts',
  },
  {
    name: 'the return of a payment in suspense counts as refused when the acquirer does not answer',
    edits: [
      edit(
        'src/payouts/attempt.ts',
        'await wait(deps, payment, { blockedBy: explain(deps, payment, error) })',
        `if ('suspenseId' in payment.log) await payment.record({ outcome: 'refused', reason: 'no answer' }, false)
    else await wait(deps, payment)`,
      ),
    ],
    caughtBy: 'test/e2e/duplicate.test.ts',
  },
  {
    name: 'an attributed payment stays in suspense as well',
    edits: [edit('src/transactions/settle.ts', '{ before: attributions, ownEvents }', '{ ownEvents }')],
    caughtBy: 'test/e2e/unattributed-reversal.test.ts',
  },
  {
    name: 'a reversed attribution does not return the fee',
    edits: [
      edit('src/attribution/reverse.ts', 'paymentReversed(amount, row.fee_amount ?? 0,', 'paymentReversed(amount, 0,'),
    ],
    caughtBy: 'test/e2e/unattributed-reversal.test.ts',
  },
  {
    name: 'a second payment counts as the first while the first is not posted yet',
    edits: [edit('src/reconciliation/compare.ts', 'owner.isPaid || pair.isLater', 'owner.isPaid')],
    caughtBy: reconciliationTest,
  },
  {
    name: 'the correction of an amount has the wrong sign',
    edits: [
      edit(
        'src/reconciliation/compare.ts',
        'correct(atAcquirer.amount - posted)',
        'correct(posted - atAcquirer.amount)',
      ),
    ],
    caughtBy: reconciliationTest,
  },
  {
    name: 'a corrected discrepancy is found again',
    edits: [
      edit(
        'src/reconciliation/compare.ts',
        'const posted = inLedger.amount + pair.corrected.amount',
        'const posted = inLedger.amount',
      ),
    ],
    caughtBy: reconciliationTest,
  },
  {
    name: 'records that only the ledger has are left out of every reconciliation window',
    edits: [
      edit(
        'src/reconciliation/compare.ts',
        'return [atAcquirer?.at, inLedger?.at].some(',
        'return [atAcquirer?.at].some(',
      ),
    ],
    caughtBy: reconciliationTest,
  },
  {
    name: 'the tolerance around midnight is shorter than documented',
    edits: [edit('src/reconciliation/compare.ts', 'export const cutOffMs = 10 *', 'export const cutOffMs = 5 *')],
    caughtBy: reconciliationTest,
  },
  {
    name: 'a correction that nobody confirmed is not detected',
    edits: [edit('src/reconciliation/verify-store.ts', 'expected full join posted', 'expected left join posted')],
    caughtBy: reconciliationTest,
  },
  {
    name: 'a record that a list omits counts as missing without a query',
    edits: [
      edit(
        'src/reconciliation/run.ts',
        'differs.length > 0 && mayBeUnlisted(pair)',
        'differs.length < 0 && mayBeUnlisted(pair)',
      ),
    ],
    caughtBy: 'src/reconciliation/run.test.ts',
  },
  {
    name: 'an interrupted list counts as complete',
    edits: [
      edit(
        'src/reconciliation/listing.ts',
        'for await (const item of items) {',
        'for await (const item of swallow(items)) {',
      ),
      edit(
        'src/reconciliation/listing.ts',
        'async function storeAll<Item>(',
        'async function* swallow<Item>(items: AsyncIterable<Item>) { try { yield* items } catch {} }\n\nasync function storeAll<Item>(',
      ),
    ],
    caughtBy: 'src/reconciliation/run.test.ts',
  },
  {
    name: 'an unknown outgoing payment does not freeze payouts',
    edits: [edit('src/reconciliation/save.ts', '  if (alarm)\n', '  if (!alarm && alarm)\n')],
    caughtBy: 'src/reconciliation/run.test.ts',
  },
  {
    name: 'a day is closed in UTC',
    edits: [edit('src/lib/brasilia.ts', "brasilia = 'America/Sao_Paulo'", "brasilia = 'UTC'")],
    caughtBy: 'src/lib/brasilia.test.ts',
  },
  {
    name: 'refunds go to the acquirer that issued the QR code',
    edits: [edit('src/transactions/change.ts', 'if (row.acquirer === acquirer) return {}', 'if (acquirer) return {}')],
    caughtBy: severalAcquirersTest,
  },
  {
    name: 'a code expires although only the first of its acquirers was queried',
    edits: [
      edit(
        'src/transactions/settle.ts',
        'of [owner.acquirer, ...owner.other_acquirers]) {',
        'of [owner.acquirer, ...owner.other_acquirers].slice(0, 1)) {',
      ),
    ],
    caughtBy: severalAcquirersTest,
  },
  {
    name: 'an acquirer is trusted about a charge that was never requested from it',
    edits: [
      edit(
        'src/transactions/settle.ts',
        'return acquirer === name || others.includes(name)',
        'return acquirer !== name || others.length >= 0',
      ),
    ],
    caughtBy: severalAcquirersTest,
  },
  {
    name: 'a duplicate payment is not returned',
    edits: [edit('src/transactions/settle.ts', 'await suspendDuplicate(deps, confirmed)', '')],
    caughtBy: severalAcquirersTest,
  },
  {
    name: 'a payment without a txid pays each charge that lists it',
    edits: [edit('src/transactions/settle.ts', '(taken && taken !== confirmed.id)', 'false')],
    caughtBy: 'test/e2e/listed-twice.test.ts',
  },
  ...edgeMutations,
]
