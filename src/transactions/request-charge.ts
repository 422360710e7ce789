import { type Acquirer, AcquirerUnavailable, type Charge, type ChargeInput } from '../acquirers/acquirer.ts'
import { assert } from '../lib/assert.ts'

/**
 * How long one acquirer may take if there is another to try, and how long all may take together: the merchant's
 * checkout is waiting for the response.
 */
const timeoutMs = 5_000
const budgetMs = 12_000

/** The result of requesting a charge. refused: certainly no charge exists at that acquirer; unknown: one may exist. */
export type Outcome = { kind: 'created'; charge: Charge } | { kind: 'refused'; reason: string } | { kind: 'unknown' }

/**
 * The acquirer that answered, or the first one asked if none did. `others` were asked too, and may have the charge as
 * well.
 */
export type Answered = { outcome: Outcome; acquirer: string; others: string[] }

/**
 * Requests a charge under our own txid from the first acquirer, and from the next one if the outcome is unknown. A
 * refusal is an answer: nobody else is asked. This request never hands out the code of an acquirer whose outcome was
 * unknown, so that a payer gets only one code.
 */
export async function requestCharge(acquirers: readonly Acquirer[], input: ChargeInput): Promise<Answered> {
  const [first, ...more] = acquirers
  assert(first, 'at least one acquirer can create the charge')
  // An acquirer in this process needs no time-out.
  if (more.length === 0 && !first.isRemote)
    return { outcome: await createAt(first, input), acquirer: first.name, others: [] }

  const until = performance.now() + budgetMs
  const unanswered: string[] = []
  for (const acquirer of acquirers) {
    const leftMs = until - performance.now()
    if (leftMs <= 0) break
    const isLast = unanswered.length === more.length
    const outcome = await within(isLast ? leftMs : Math.min(timeoutMs, leftMs), createAt(acquirer, input))
    if (outcome.kind !== 'unknown') return { outcome, acquirer: acquirer.name, others: unanswered }
    unanswered.push(acquirer.name)
  }
  return { outcome: { kind: 'unknown' }, acquirer: first.name, others: unanswered.slice(1) }
}

async function createAt(acquirer: Acquirer, input: ChargeInput): Promise<Outcome> {
  try {
    const answer = await acquirer.createCharge(input)
    return answer.outcome === 'created'
      ? { kind: 'created', charge: answer.charge }
      : { kind: 'refused', reason: answer.reason }
  } catch (error) {
    if (error instanceof AcquirerUnavailable) return { kind: 'unknown' }
    throw error
  }
}

/** The request continues after its time-out, but its response is ignored. */
function within(ms: number, answer: Promise<Outcome>): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve({ kind: 'unknown' }), ms)
    answer.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
