import type { Clock } from '../lib/clock.ts'
import { inSpan, type OpenSpan, type SpanOptions } from '../lib/spans.ts'
import { fromTxid } from '../pix/ids.ts'
import {
  type Acquirer,
  AcquirerUnavailable,
  type DefenceOutcome,
  type Disputes,
  type MoneyOut,
  type Payouts,
} from './acquirer.ts'

/**
 * One request to an acquirer, or one list with all its pages, and its outcome. It holds no content, hence no personal
 * data.
 */
export type Exchange = {
  acquirer: string
  operation: string
  /** The transaction, refund or withdrawal that the request was about; null where there is none or it is not known. */
  recordId: string | null
  endToEndId: string | null
  outcome: 'refused' | 'found' | 'nothing' | 'processing' | 'done' | 'unknown' | 'error'
  /** The error's name, with a status or code. Never a text of the acquirer. */
  error: string | null
  /** For a list, this includes the time that its reader took to process the entries. */
  durationMs: number
  at: Date
}

/**
 * `id` is the id of our record, in the acquirer's form. Null if the request is about no record, or if it is not known
 * about which.
 */
type Subject = { operation: string; id: string | null; endToEndId?: string }
type Deps = {
  write: (exchange: Exchange) => void
  clock: Clock
  /** Called for every request that is passed through, including the creation of a charge; once for a whole list. */
  observe?: (request: Observed) => void
}

export type Observed = {
  acquirer: string
  operation: string
  outcome: Exchange['outcome'] | 'created' | 'listed'
  durationMs: number
}

/**
 * The same acquirer, with its requests passed to `write`, which must return at once and throw nothing. The creation of
 * a charge is recorded only if it is refused or fails: otherwise the transaction's history has it, and creating is the
 * busiest path. A list belongs to no record: it is recorded only when it fails. The registration of the address for
 * callbacks is neither recorded nor observed: it is about no record, and whoever requests it logs its failure.
 */
export function recordExchanges(acquirer: Acquirer, deps: Deps): Acquirer {
  const { payouts, disputes, readBalance } = acquirer
  const recorded: Recorder = (subject, toOutcome, call) => record(deps, acquirer.name, { subject, toOutcome, call })
  return {
    ...acquirer,
    createCharge: (input) =>
      recorded(
        { operation: 'createCharge', id: input.txid },
        (answer) => (answer.outcome === 'created' ? null : answer.outcome),
        () => acquirer.createCharge(input),
      ),
    findCharge: async (txid) =>
      await recorded({ operation: 'findCharge', id: txid }, foundOrNot, () => acquirer.findCharge(txid)),
    removeCharge: async (txid) =>
      await recorded(
        { operation: 'removeCharge', id: txid },
        ({ outcome }) => outcome,
        () => acquirer.removeCharge(txid),
      ),
    findPayment: async (endToEndId) =>
      await recorded({ operation: 'findPayment', id: null, endToEndId }, foundOrNot, () =>
        acquirer.findPayment(endToEndId),
      ),
    listPayments: (range) => recordList(deps, acquirer.name, 'listPayments', acquirer.listPayments(range)),
    refund: async (input) =>
      await recorded({ operation: 'refund', id: input.refundId }, outcomeOf, () => acquirer.refund(input)),
    findRefund: async (input) =>
      await recorded({ operation: 'findRefund', id: input.refundId }, outcomeOf, () => acquirer.findRefund(input)),
    readBalance:
      readBalance && (async () => await recorded({ operation: 'readBalance', id: null }, () => 'found', readBalance)),
    payouts: payouts && recordPayouts(payouts, recorded, deps, acquirer.name),
    disputes: disputes && recordDisputes(disputes, recorded, deps, acquirer.name),
  }
}

type Recorder = <Result>(
  subject: Subject,
  toOutcome: (result: Result) => Exchange['outcome'] | null,
  call: () => Promise<Result>,
) => Promise<Result>

function recordPayouts(payouts: Payouts, recorded: Recorder, deps: Deps, acquirer: string): Payouts {
  const { list, prepare } = payouts
  return {
    ...payouts,
    send: async (input) =>
      await recorded({ operation: 'sendPayout', id: input.payoutId }, outcomeOf, () => payouts.send(input)),
    prepare:
      prepare &&
      (async (order) =>
        await recorded(
          { operation: 'preparePayout', id: order.payoutId },
          // No money has moved: the PSP has only given its id of the payout.
          ({ outcome }) => (outcome === 'prepared' ? 'found' : outcome),
          () => prepare(order),
        )),
    find: async (key) =>
      await recorded({ operation: 'findPayout', id: key.payoutId }, outcomeOf, () => payouts.find(key)),
    list: list && ((range) => recordList(deps, acquirer, 'listPayouts', list(range))),
  }
}

function recordDisputes(disputes: Disputes, recorded: Recorder, deps: Deps, acquirer: string): Disputes {
  const { list, defend } = disputes
  const toOutcome = ({ outcome }: DefenceOutcome) => (outcome === 'received' ? 'done' : outcome)
  return {
    list: (range) => recordList(deps, acquirer, 'listInfractions', list(range)),
    defend:
      defend && (async (input) => await recorded({ operation: 'defend', id: null }, toOutcome, () => defend(input))),
  }
}

/** An acquirer knows our record by the record’s UUID, in some places without hyphens (a txid). */
function toRecordId(id: string): string | null {
  return fromTxid(id.replaceAll('-', ''))
}

function foundOrNot(found: unknown): Exchange['outcome'] {
  return found === null ? 'nothing' : 'found'
}

function outcomeOf(answer: MoneyOut | null): Exchange['outcome'] {
  return answer?.outcome ?? 'nothing'
}

type Call<Result> = {
  subject: Subject
  toOutcome: (result: Result) => Exchange['outcome'] | null
  call: () => Promise<Result>
}

async function record<Result>(deps: Deps, acquirer: string, input: Call<Result>): Promise<Result> {
  const { operation, id } = input.subject
  const options = (): SpanOptions => {
    const recordId = id === null ? null : toRecordId(id)
    const attributes = { 'guiche.acquirer': acquirer, 'guiche.operation': operation }
    return { kind: 'client', attributes: { ...attributes, ...(recordId !== null && { 'guiche.record_id': recordId }) } }
  }
  return await inSpan(
    `acquirer ${operation}`,
    options,
    async (span) => await recordCall(deps, acquirer, { ...input, span }),
  )
}

async function recordCall<Result>(
  { write, observe, clock }: Deps,
  acquirer: string,
  { subject, toOutcome, call, span }: Call<Result> & { span: OpenSpan | null },
): Promise<Result> {
  const [at, startedAt] = [clock.now(), performance.now()]
  const writeOutcome = (outcome: Exchange['outcome'], error: string | null) =>
    write({
      acquirer,
      operation: subject.operation,
      recordId: subject.id === null ? null : toRecordId(subject.id),
      endToEndId: subject.endToEndId ?? null,
      outcome,
      error,
      durationMs: Math.round(performance.now() - startedAt),
      at,
    })
  const reportOutcome = (outcome: Observed['outcome']) => {
    span?.set({ 'guiche.outcome': outcome })
    observe?.({ acquirer, operation: subject.operation, outcome, durationMs: performance.now() - startedAt })
  }
  try {
    const result = await call()
    const outcome = toOutcome(result)
    reportOutcome(outcome ?? 'created')
    if (outcome !== null) writeOutcome(outcome, null)
    return result
  } catch (error) {
    const outcome = error instanceof AcquirerUnavailable ? 'unknown' : 'error'
    reportOutcome(outcome)
    writeOutcome(outcome, nameOf(error))
    throw error
  }
}

async function* recordList<Item>(
  { write, observe, clock }: Deps,
  acquirer: string,
  operation: string,
  items: AsyncIterable<Item>,
): AsyncGenerator<Item> {
  const [at, startedAt] = [clock.now(), performance.now()]
  let outcome: Observed['outcome'] = 'listed'
  try {
    yield* items
  } catch (error) {
    outcome = error instanceof AcquirerUnavailable ? 'unknown' : 'error'
    const durationMs = Math.round(performance.now() - startedAt)
    write({ acquirer, operation, recordId: null, endToEndId: null, outcome, error: nameOf(error), durationMs, at })
    throw error
  } finally {
    // Also if the reader stops early: what it read was listed.
    observe?.({ acquirer, operation, outcome, durationMs: performance.now() - startedAt })
  }
}

/** `AcquirerUnavailable 503`, `AcquirerUnavailable ECONNREFUSED`: the error's name with its status or code. */
function nameOf(error: unknown): string {
  if (!(error instanceof Error)) return 'not an error'
  const cause = error.cause instanceof Error ? error.cause : null
  const code = cause && 'code' in cause && typeof cause.code === 'string' ? cause.code : cause?.name
  const status = /^The acquirer answered (\d{3})\b/.exec(error.message)?.[1]
  return [error.name, status ?? code].filter(Boolean).join(' ')
}
