/** A bug that somebody could introduce: one or more unique texts of the program, with their replacements. */
export type Mutation = { name: string; edits: Edit[]; caughtBy?: string }
type Edit = { file: string; from: string; to: string }

export const edit = (file: string, from: string, to: string): Edit => ({ file, from, to })

/** The test that must catch a mutation, unless the mutation names another one. */
export const modelTest = 'test/model/model.test.ts'
export const severalAcquirersTest = 'test/e2e/several-acquirers-money.test.ts'
export const payoutsPspIdsTest = 'test/e2e/payouts-psp-ids.test.ts'
export const reconciliationTest = 'src/reconciliation/classes.test.ts'
export const twoPersonsTest = 'test/e2e/two-persons.test.ts'
export const feedTest = 'src/webhooks/feed.test.ts'
export const jobsTest = 'src/jobs/jobs.test.ts'
export const breakerTest = 'src/acquirers/breaker.test.ts'
export const standbyTest = 'test/e2e/standby.test.ts'
