import { edit, type Mutation } from './mutation.ts'

const cancelTest = 'src/transactions/cancel.test.ts'

/** Mutations of charges (cancel, expiry, texts at the PSP, erasure) and of the plugin for Medusa. */
export const chargeMutations: Mutation[] = [
  {
    name: 'a cancel that the acquirer answered counts, whatever became of the charge',
    edits: [
      edit('src/transactions/check.ts', "if (settled === 'removed') {", "if (settled === 'removed' || removal) {"),
    ],
    caughtBy: cancelTest,
  },
  {
    name: 'a cancel without an answer is forgotten until the code expires',
    edits: [
      edit(
        'src/transactions/store.ts',
        'check_at = least(check_at, ${checkAt})',
        'check_at = greatest(check_at, ${checkAt})',
      ),
    ],
    caughtBy: cancelTest,
  },
  {
    name: 'the webhook of an expired charge waits until its lease ends',
    edits: [
      edit('src/transactions/fail.ts', 'if (whole) ownEvents?.setView', 'if (whole === null) ownEvents?.setView'),
    ],
    caughtBy: 'src/webhooks/own.test.ts',
  },
  {
    name: 'a charge fails because of a text that the PSP refuses',
    edits: [edit('src/acquirers/bacen/charge.ts', 'if (input.texts === undefined)', 'if (existing === null)')],
    caughtBy: 'src/acquirers/bacen/charge-texts.test.ts',
  },
  {
    name: 'an erased customer’s charges keep their descriptions',
    edits: [edit('src/privacy/store.ts', 'return_url = null, description = null,', 'return_url = null,')],
    caughtBy: 'test/e2e/personal-data.test.ts',
  },
  {
    name: 'a refund that Medusa tries again has another key, and the payer gets it twice',
    edits: [edit('plugins/medusa/src/payments.ts', '-refund-${done}-${failed}', '-refund-${Date.now()}')],
    caughtBy: 'test/sdk/medusa.test.ts',
  },
]
