import { type Acquirer, AcquirerUnavailable, type Charge, type ChargeInput } from '../acquirers/acquirer.ts'
import { assert } from '../lib/assert.ts'

/** For so long one acquirer is waited for while another one is left, and for so long all together: a shop waits for the answer. */
const patienceMs = 5_000
const budgetMs = 12_000

/** What asking has come to. refused: it is certain that there is no charge; unknown: there may be one. */
export type Outcome = { kind: 'created'; charge: Charge } | { kind: 'refused'; reason: string } | { kind: 'unknown' }

/** Who answered; or, where nobody did, who was asked first. `others` were asked besides, and may have the charge as well. */
export type Answered = { outcome: Outcome; acquirer: string; others: string[] }

/**
 * Asks for a charge under our own txid: the first acquirer, and where its outcome is unknown the next one. A refusal is an answer, and
 * nobody else is asked. The code of an acquirer whose outcome was unknown is given to nobody by this request, so that a payer has one.
 */
export async function askForCharge(acquirers: readonly Acquirer[], input: ChargeInput): Promise<Answered> {
  const [first, ...more] = acquirers
  assert(first, 'there is an acquirer to ask')
  // In this process there is nothing to wait for.
  if (more.length === 0 && !first.isRemote)
    return { outcome: await ask(first, input), acquirer: first.name, others: [] }

  const until = performance.now() + budgetMs
  const unanswered: string[] = []
  for (const acquirer of acquirers) {
    const leftMs = until - performance.now()
    if (leftMs <= 0) break
    const isLast = unanswered.length === more.length
    const outcome = await within(isLast ? leftMs : Math.min(patienceMs, leftMs), ask(acquirer, input))
    if (outcome.kind !== 'unknown') return { outcome, acquirer: acquirer.name, others: unanswered }
    unanswered.push(acquirer.name)
  }
  return { outcome: { kind: 'unknown' }, acquirer: first.name, others: unanswered.slice(1) }
}

async function ask(acquirer: Acquirer, input: ChargeInput): Promise<Outcome> {
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

/** The question goes on beyond its time, and its answer counts no more. */
function within(ms: number, answer: Promise<Outcome>): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve({ kind: 'unknown' }), ms)
    answer.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
