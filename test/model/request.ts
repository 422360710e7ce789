import { createTransaction } from '../../src/transactions/create.ts'
import { refundTransaction } from '../../src/transactions/refund/refund.ts'
import { createWithdrawal } from '../../src/withdrawals/create.ts'
import { type Attempted, attempt, describe, Unexpected } from './attempt.ts'
import { type Expected, expectRefund, expectWithdrawal } from './expect.ts'
import type { Requested } from './memory.ts'
import { readAll } from './read.ts'
import type { World } from './world.ts'

type Answer = { id: string; isReplay: boolean; reviewReason: string | null }

/**
 * Sends a request under an idempotency key, for the first time or again, and compares the answer with the expected one:
 * of a transaction nothing is predicted, and a request that was answered before must give the same id, as a replay.
 * While other steps run at the same time, it checks only what holds in any order.
 */
export async function sendAndCompare(
  world: World,
  requested: Requested,
  { isAlone }: { isAlone: boolean },
): Promise<string> {
  const expected = isAlone && requested.id === null ? await foresee(world, requested) : null
  const answered = await attempt(async () => await send(world, requested))
  if (answered.did === 'done') {
    const { id, isReplay, reviewReason } = answered.value
    if (requested.id !== null && (requested.id !== id || !isReplay))
      throw new Unexpected(`the key ${requested.input.idempotencyKey} gave ${requested.id} and then ${id}`)
    requested.id = id
    if (requested.kind === 'withdrawal' && reviewReason === null) world.memory.mayBeSent.add(id)
  } else if (answered.did === 'lost') {
    await noteIfCommitted(world, requested, expected)
  } else if (requested.id !== null) {
    throw new Unexpected(
      `the key ${requested.input.idempotencyKey} gave ${requested.id} and was then refused: ${answered.code}`,
    )
  }
  compare(expected, answered)
  return `${requested.kind} ${JSON.stringify(requested.input)}: ${describe(answered)} ${requested.id ?? ''}`
}

/** A withdrawal request that was interrupted after its commit counts. If it needs no review, it may be sent. */
async function noteIfCommitted(
  { db, clock, memory }: World,
  requested: Requested,
  expected: Expected | null,
): Promise<void> {
  if (requested.kind !== 'withdrawal') return
  const { withdrawals } = await readAll(db, clock.now())
  const row = withdrawals.find(({ idempotency_key }) => idempotency_key === requested.input.idempotencyKey)
  if (row && (expected ?? { reviewReason: row.initial_review_reason }).reviewReason === null)
    memory.mayBeSent.add(row.id)
}

/** The same key with other content, after the first request was answered. It must never be accepted. */
export async function repeatWithOtherAmount(world: World, requested: Requested): Promise<string> {
  const answered = await attempt(async () => await send(world, withOtherAmount(requested)))
  const isRight = answered.did === 'lost' || (answered.did === 'refused' && isRefusalOfKey(requested, answered.code))
  if (!isRight)
    throw new Unexpected(
      `the key ${requested.input.idempotencyKey} of ${requested.id} came with other content: ${describe(answered)}`,
    )
  return `${requested.kind} with the key of an earlier request and another amount: ${describe(answered)}`
}

function withOtherAmount(requested: Requested): Requested {
  // A refund without an amount refunds what is left of the payment: no payment of the model is this large.
  const amount = (requested.input.amount ?? 5_000_000) + 1
  switch (requested.kind) {
    case 'transaction':
      return { ...requested, input: { ...requested.input, amount } }
    case 'refund':
      return { ...requested, input: { ...requested.input, amount } }
    case 'withdrawal':
      return { ...requested, input: { ...requested.input, amount } }
  }
}

function isRefusalOfKey({ kind }: Requested, code: string): boolean {
  // The charge is requested before the key is checked, and the bank may not answer or may refuse it.
  return code === 'idempotency_key_reused' || (kind === 'transaction' && /^acquirer_/.test(code))
}

async function foresee(world: World, requested: Requested): Promise<Expected | null> {
  if (requested.kind === 'transaction') return null
  return requested.kind === 'refund' ? await expectRefund(world, requested) : await expectWithdrawal(world, requested)
}

function compare(expected: Expected | null, answered: Attempted<Answer>): void {
  if (expected === null || answered.did === 'lost') return
  if (answered.did === 'refused') {
    if (expected.code !== answered.code)
      throw new Unexpected(`refused with ${answered.code}, expected ${expected.code ?? 'it to be accepted'}`)
    return
  }
  // An earlier try was interrupted after its commit: this answer repeats its outcome, which was not predicted.
  if (answered.value.isReplay) return
  if (expected.code !== null) throw new Unexpected(`accepted, expected ${expected.code}`)
  if (expected.reviewReason !== answered.value.reviewReason)
    throw new Unexpected(
      `review reason ${answered.value.reviewReason ?? 'none'}, expected ${expected.reviewReason ?? 'none'}`,
    )
}

async function send({ process: { deps } }: World, requested: Requested): Promise<Answer> {
  const { merchantId } = requested
  switch (requested.kind) {
    case 'transaction': {
      const { row, isReplay } = await createTransaction(deps, {
        merchantId,
        clientId: merchantId,
        merchantName: 'Loja Exemplo',
        movedToAddress: null,
        by: null,
        input: requested.input,
      })
      return { id: row.id, isReplay, reviewReason: null }
    }
    case 'refund': {
      const { transactionId, input } = requested
      const { refund, isReplay } = await refundTransaction(deps, { merchantId, transactionId, by: null, input })
      return { id: refund.id, isReplay, reviewReason: null }
    }
    case 'withdrawal': {
      const { row, isReplay } = await createWithdrawal(deps, {
        merchantId,
        clientId: merchantId,
        by: null,
        input: requested.input,
      })
      return { id: row.id, isReplay, reviewReason: row.initial_review_reason }
    }
  }
}
