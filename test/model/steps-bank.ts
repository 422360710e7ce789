import { findPayout } from '../../simulator/payouts-store.ts'
import { toPix } from '../../simulator/pix.ts'
import { findPix } from '../../simulator/pix-store.ts'
import { toSentPixCallback } from '../../simulator/sent-pix.ts'
import { receiveCallback } from '../../src/callbacks/receive.ts'
import { sql } from '../../src/db/sql.ts'
import { cents } from '../../src/lib/money.ts'
import { simulatorName } from '../../src/network.ts'
import { recordDecision, recordDispute } from '../../src/transactions/dispute/dispute.ts'
import { blocksMoney } from './accounts.ts'
import { attempt, describe } from './attempt.ts'
import { readAll, type Seen } from './read.ts'
import { pickPaid, type Step } from './steps.ts'
import type { World } from './world.ts'

/**
 * A callback about one or several events, in any order and any number of times; sometimes about an event that never
 * happened.
 */
export const callback: Step = async (world) => {
  const { random, db, clock } = world
  const { bank, transactions } = await readAll(db, clock.now())
  const pix = random.shuffle(bank.pix).slice(0, 3)
  const payouts = random.shuffle(bank.payouts).slice(0, 2)
  const entries: unknown[] = [
    ...(await Promise.all(pix.map(async ({ end_to_end_id }) => await pixEntry(world, end_to_end_id)))),
    ...(await Promise.all(payouts.map(async ({ id }) => await payoutEntry(world, id)))),
  ]
  const unpaid = random.pick(transactions.filter(({ end_to_end }) => end_to_end === null))
  if (unpaid && random.percent(15)) entries.push(forge(unpaid.txid, random.below(1_000_000)))
  const sent = random.shuffle([...entries, ...entries]).slice(0, 1 + random.below(4))
  const said = []
  for (const entry of sent) said.push(describe(await sendCallback(world, entry)))
  return `callbacks: ${said.join(' ')}`
}

/** Sends a callback about every payment and payout of the bank. */
export async function sendAllCallbacks(world: World): Promise<void> {
  const { bank } = await readAll(world.db, world.clock.now())
  for (const { end_to_end_id } of bank.pix) await sendCallback(world, await pixEntry(world, end_to_end_id))
  for (const { id } of bank.payouts) await sendCallback(world, await payoutEntry(world, id))
}

async function sendCallback({ process: { deps } }: World, entry: unknown) {
  const acquirer = deps.acquirers.named(simulatorName)
  const notices = acquirer.readCallback({ pix: [entry] })
  return await attempt(async () => await receiveCallback(deps, { acquirer: acquirer.name, notices }))
}

async function pixEntry({ db, clock }: World, endToEndId: string): Promise<unknown> {
  const pix = await findPix(db.pool, endToEndId, clock.now())
  return pix && toPix(pix, clock.now())
}

async function payoutEntry({ db, clock }: World, id: string): Promise<unknown> {
  const payout = await findPayout(db.pool, id)
  return payout && toSentPixCallback(payout, clock.now())
}

/** A forged notice of a payment that was never made. */
function forge(txid: string, number: number): unknown {
  const endToEndId = `E12345678202603021500${String(number).padStart(11, '0')}`
  return { endToEndId, txid, valor: '1.00', horario: '2026-03-02T15:00:00.000Z' }
}

/** The receiver of a payout sends it back, or a part of it. */
export const sendBack: Step = async (world) => {
  const { random } = world
  const { bank } = await readAll(world.db, world.clock.now())
  const payout = random.pick(bank.payouts)
  if (!payout) return 'nothing to send back'
  const amount = random.percent(50) ? undefined : cents(1 + random.below(payout.amount))
  const back = await world.bank.returnPayout({ payoutId: payout.id, ...(amount !== undefined && { amount }) })
  return `send back ${amount ?? 'all'} of ${payout.id}: ${back.ok ? 'done' : back.code}`
}

/** The payer's bank disputes a payment. */
export const dispute: Step = async (world) => {
  const { random } = world
  const { bank } = await readAll(world.db, world.clock.now())
  const pix = random.pick(bank.pix)
  if (!pix) return 'nothing to dispute'
  const amount = random.percent(60) ? undefined : cents(1 + random.below(pix.amount))
  const input = { endToEndId: pix.end_to_end_id, ...(amount !== undefined && { amount }) }
  const opened = await world.bank.openDispute(input)
  return `dispute ${amount ?? 'all'} of ${pix.end_to_end_id}: ${opened.ok ? opened.id : opened.code}`
}

/** The payer's bank disputes a payment, or a part of it, whose earlier dispute has ended. */
export const disputeAgain: Step = async (world) => {
  const { random } = world
  const { bank } = await readAll(world.db, world.clock.now())
  const ended = random.pick(bank.disputes.filter((one) => !isOpenAtBank(bank, one.end_to_end_id)))
  if (!ended) return 'nothing to dispute again'
  const amount = random.percent(40) ? undefined : cents(1 + random.below(1_000))
  const input = { endToEndId: ended.end_to_end_id, ...(amount !== undefined && { amount }) }
  const opened = await world.bank.openDispute(input)
  return `dispute ${amount ?? 'all'} of ${ended.end_to_end_id} again: ${opened.ok ? opened.id : opened.code}`
}

/**
 * The payer's bank reopens a dispute that was rejected or canceled, as PSPs may. The simulator has no control for it.
 */
export const reopen: Step = async (world) => {
  const { random, db, clock } = world
  const { bank } = await readAll(db, clock.now())
  const ended = bank.disputes.filter(({ state }) => state === 'rejected' || state === 'canceled')
  const one = random.pick(ended.filter(({ end_to_end_id }) => !isOpenAtBank(bank, end_to_end_id)))
  if (!one) return 'nothing to reopen'
  await db.query(sql`
    update simulator.disputes set state = 'open', changed_at = ${clock.now()} where id::text = ${one.id}`)
  return `reopen ${one.id}`
}

function isOpenAtBank({ disputes }: Seen['bank'], endToEndId: string): boolean {
  return disputes.some((one) => one.end_to_end_id === endToEndId && one.state === 'open')
}

export const decide: Step = async (world) => {
  const { random } = world
  const { bank } = await readAll(world.db, world.clock.now())
  const open = random.pick(bank.disputes.filter(({ state }) => state === 'open'))
  if (!open) return 'nothing to decide'
  const decision = random.pick(['accept', 'reject', 'cancel'] as const) ?? 'accept'
  const decided = await world.bank.decideDispute({ reference: open.id, decision })
  return `${decision} ${open.id}: ${decided.ok ? 'done' : decided.code}`
}

/** The bank returns a payment under MED without announcing it. */
export const takeBack: Step = async (world) => {
  const { random } = world
  const { bank } = await readAll(world.db, world.clock.now())
  const pix = random.pick(bank.pix)
  if (!pix) return 'nothing to take back'
  const amount = random.percent(60) ? undefined : cents(1 + random.below(pix.amount))
  const input = { endToEndId: pix.end_to_end_id, ...(amount !== undefined && { amount }) }
  const taken = await world.bank.returnUnannounced(input)
  return `take back ${amount ?? 'all'} of ${pix.end_to_end_id}: ${taken.ok ? 'done' : taken.code}`
}

/** A part of the disputed money goes back before the rest: the dispute stays open, and the rest stays blocked. */
export const takeBackPart: Step = async (world) => {
  const { random } = world
  const { disputes, transactions } = await readAll(world.db, world.clock.now())
  const larger = disputes.filter((one) => blocksMoney(one) && one.amount - one.returned_amount > 1)
  const dispute = random.pick(larger)
  const endToEndId = transactions.find(({ id }) => id === dispute?.transaction_id)?.end_to_end
  if (!dispute || !endToEndId) return 'nothing to take back in part'
  const amount = cents(1 + random.below(dispute.amount - dispute.returned_amount - 1))
  const taken = await world.bank.returnUnannounced({ endToEndId, amount })
  return `take back ${amount} of a dispute of ${dispute.amount} of ${endToEndId}: ${taken.ok ? 'done' : taken.code}`
}

const operator = { actor: 'cli:model' }

/** The operator enters a dispute, which the acquirer may not have reported. */
export const enterDispute: Step = async (world) => {
  const { random, process } = world
  const { transactions } = await readAll(world.db, world.clock.now())
  const row = pickPaid(world, transactions)
  if (!row) return 'nothing to enter'
  const amount = random.percent(60) ? undefined : 1 + random.below(row.amount_paid ?? 1)
  const input = { transactionId: row.id, ...(amount !== undefined && { amount }), by: operator }
  return `the operator disputes ${row.id}: ${describe(await attempt(async () => await recordDispute(process.deps, input)))}`
}

export const decideInGateway: Step = async (world) => {
  const { random, process } = world
  const { disputes } = await readAll(world.db, world.clock.now())
  const open = random.pick(disputes.filter(blocksMoney))
  if (!open) return 'nothing to decide here'
  const decision = random.percent(50) ? 'accept' : 'reject'
  const input = { transactionId: open.transaction_id, disputeId: open.id, decision, by: operator } as const
  return `the operator decides ${decision}: ${describe(await attempt(async () => await recordDecision(process.deps, input)))}`
}
