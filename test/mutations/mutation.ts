/** A fault as somebody could make it: one or more places of the program, each a text that is there once, and what replaces it. */
export type Mutation = { name: string; edits: Edit[]; caughtBy?: string }
type Edit = { file: string; from: string; to: string }

export const edit = (file: string, from: string, to: string): Edit => ({ file, from, to })

/** What looks for a fault unless it names another test. */
export const modelTest = 'test/model/model.test.ts'
export const severalAcquirersTest = 'test/e2e/several-acquirers-money.test.ts'
export const payoutsElsewhereTest = 'test/e2e/payouts-elsewhere.test.ts'
export const reconciliationTest = 'src/reconciliation/classes.test.ts'
export const twoPersonsTest = 'test/e2e/two-persons.test.ts'
