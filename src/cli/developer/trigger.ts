import { randomUUID } from 'node:crypto'
import { AcquirerRefusedError, type Guiche, type WebhookEventType } from '../../../sdk/src/index.ts'
import { assert } from '../../lib/assert.ts'
import { inReais } from '../../lib/money.ts'
import { print, write } from '../print.ts'
import { type ConnectOptions, connect, requireSandbox } from './connect.ts'
import { createSteps, type Steps } from './say.ts'

type Options = ConnectOptions & { amount?: number; webhookUrl?: string; externalCode?: string; json?: boolean }

type Run = {
  guiche: Guiche
  steps: Steps
  /** Cents. */
  amount: number
  /** Fields of the record that the caller chose. */
  fields: { webhookUrl?: string; externalCode?: string }
}

type Scenario = {
  /** Creates a record and does what causes the event. Returns the id of the record. */
  play: (run: Run) => Promise<string>
  /** The amount that makes the simulated bank behave so. */
  amount?: number
}

const amountDefault = 2590

/** Every event that a merchant and the simulated bank can cause without an operator. */
const scenarios: Record<Exclude<WebhookEventType, 'withdrawal.rejected'>, Scenario> = {
  'transaction.pix_qrcode_generated': { play: create },
  'transaction.paid': { play: pay },
  'transaction.failed': { play: createRefused, amount: 4_220_422 },
  'transaction.processing_refund': { play: refund },
  'transaction.refunded': { play: refund },
  'transaction.blocked': { play: dispute },
  'transaction.processing_infraction': { play: loseDispute },
  'transaction.infraction': { play: loseDispute },
  'withdrawal.processing': { play: withdraw },
  'withdrawal.processed': { play: withdraw },
  'withdrawal.failed': { play: withdraw, amount: 900_001 },
  'withdrawal.canceled': { play: cancelDuplicate },
  'withdrawal.refunded': { play: returnWithdrawal },
}

export type Triggered = keyof typeof scenarios

export const triggered = Object.keys(scenarios) as Triggered[]

/** `guiche trigger <type>`: causes an event in the sandbox, and shows it. */
export async function runTrigger(type: Triggered, options: Options): Promise<void> {
  const { json, webhookUrl, externalCode } = options
  const { play, amount: fixed } = scenarios[type]
  if (fixed !== undefined && options.amount !== undefined)
    throw new Error(`${type} follows from the amount ${fixed}: leave --amount out.`)
  const { guiche } = await connect(options)
  await requireSandbox(guiche)
  const steps = createSteps({ json })
  const amount = fixed ?? options.amount ?? amountDefault
  const fields = {
    ...(webhookUrl !== undefined && { webhookUrl }),
    ...(externalCode !== undefined && { externalCode }),
  }
  const recordId = await play({ guiche, steps, amount, fields })
  const event = await waitForEvent(guiche, type, recordId)
  steps.add('event', `${event.id}  ${type}`)
  if (json) print({ ...event, steps: steps.steps }, { json })
  else if (event.delivery === null)
    write('\nThe record has no webhook URL. --webhook-url names one, and "npx guiche listen" shows every event.\n')
}

async function waitForEvent(guiche: Guiche, type: Triggered, recordId: string) {
  const isTransaction = type.startsWith('transaction.')
  const status = type.slice(type.indexOf('.') + 1).toUpperCase()
  const had = ({ statusHistory }: { statusHistory: { status: string }[] }) =>
    statusHistory.some((entry) => entry.status === status)
  if (isTransaction) await guiche.transactions.waitFor(recordId, had, waitOptions)
  else await waitForWithdrawal(guiche, recordId, had)
  const events = isTransaction ? guiche.transactions.events(recordId) : guiche.withdrawals.events(recordId)
  const event = (await events.all()).find((one) => one.type === type)
  assert(event, 'a status that was reached has an event')
  return event
}

/** A simulator that runs as a separate process is asked for disputes every 30 seconds. */
const waitOptions = { timeoutMs: 90_000 }

async function waitForWithdrawal(
  guiche: Guiche,
  id: string,
  fits: (withdrawal: Awaited<ReturnType<Guiche['withdrawals']['get']>>) => boolean,
): Promise<void> {
  const endsAt = performance.now() + waitOptions.timeoutMs
  for (;;) {
    const withdrawal = await guiche.withdrawals.get(id)
    if (fits(withdrawal)) return
    const { status, hold } = withdrawal
    if (hold) throw new Error(`Withdrawal ${id} is pending review (${hold}): an operator has to approve it.`)
    if (performance.now() > endsAt) throw new Error(`Withdrawal ${id} is still ${status}.`)
    await new Promise((done) => setTimeout(done, 200))
  }
}

async function createCharge({ guiche, steps, amount, fields }: Run): Promise<{ id: string; uri: string }> {
  const { id, pixResponse } = await guiche.transactions.create({ amount, ...fields })
  steps.add('created', `transaction ${id}, ${inReais(amount)}`)
  return { id, uri: pixResponse.uri }
}

async function create(run: Run): Promise<string> {
  return (await createCharge(run)).id
}

async function createRefused(run: Run): Promise<string> {
  try {
    return await create(run)
  } catch (error) {
    if (!(error instanceof AcquirerRefusedError) || error.transactionId === undefined) throw error
    run.steps.add('refused', `transaction ${error.transactionId}, ${inReais(run.amount)}`)
    return error.transactionId
  }
}

async function pay(run: Run): Promise<string> {
  const { id, uri } = await createCharge(run)
  const { endToEndId } = await run.guiche.sandbox.pay({ uri, behaviour: 'honest' })
  run.steps.add('paid', endToEndId)
  await run.guiche.transactions.waitFor(id, 'PAID', waitOptions)
  return id
}

async function refund(run: Run): Promise<string> {
  const id = await pay(run)
  await run.guiche.transactions.refund(id)
  run.steps.add('refund', 'of the whole amount')
  return id
}

async function dispute(run: Run): Promise<string> {
  const id = await pay(run)
  const { endToEnd } = await run.guiche.transactions.get(id)
  assert(endToEnd, 'a paid transaction has an end-to-end id')
  const { reference } = await run.guiche.sandbox.openDispute({ endToEnd })
  run.steps.add('disputed', reference)
  await run.guiche.transactions.waitFor(id, 'BLOCKED', waitOptions)
  return id
}

async function loseDispute(run: Run): Promise<string> {
  const id = await dispute(run)
  const { endToEnd } = await run.guiche.transactions.get(id)
  assert(endToEnd, 'a paid transaction has an end-to-end id')
  await run.guiche.sandbox.decide(endToEnd, 'accept')
  run.steps.add('accepted', 'the money goes back to the payer')
  return id
}

/** A new key each time: a second withdrawal to the same key would look like a duplicate. */
async function withdraw(run: Run): Promise<string> {
  await fund(run, run.amount)
  return await sendOut(run, randomUUID())
}

async function sendOut({ guiche, steps, amount, fields }: Run, key: string): Promise<string> {
  const { id, hold } = await guiche.withdrawals.create({ amount, pixKey: { key, type: 'EVP' }, ...fields })
  steps.add('created', `withdrawal ${id}, ${inReais(amount)}${hold ? `, pending review (${hold})` : ''}`)
  return id
}

/** A second withdrawal of the same amount to the same key waits for a confirmation, and can be canceled until then. */
async function cancelDuplicate(run: Run): Promise<string> {
  await fund(run, run.amount * 2)
  const key = randomUUID()
  await sendOut(run, key)
  const id = await sendOut(run, key)
  await run.guiche.withdrawals.cancel(id)
  run.steps.add('canceled', id)
  return id
}

async function returnWithdrawal(run: Run): Promise<string> {
  const id = await withdraw(run)
  await waitForWithdrawal(run.guiche, id, ({ status }) => status === 'PROCESSED')
  const { endToEndId } = await run.guiche.sandbox.returnWithdrawal(id)
  run.steps.add('sent back', endToEndId)
  return id
}

/** For fees of the payment and of the withdrawals. */
const feesAllowed = 5_000

/** Makes sure that the balance covers what is withdrawn. */
async function fund(run: Run, needed: number): Promise<void> {
  const { available } = await run.guiche.balance.get()
  if (available >= needed + feesAllowed) return
  await pay({ ...run, amount: needed + feesAllowed, fields: {} })
}
