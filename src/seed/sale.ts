import type { ShownDispute, ShownRefund, ShownReturn } from '../transactions/shown-store.ts'
import type { TransactionStatus } from '../transactions/status.ts'
import type { Merchant } from './merchants.ts'
import type { Person } from './people.ts'
import type { Random } from './random.ts'
import { at, type Sheets } from './sheets.ts'

/** A transaction as it is so far. Times are milliseconds. */
export type Sale = {
  id: string
  merchant: Merchant
  /** Counts the merchant's, from 1. */
  order: number
  amount: number
  createdAt: number
  expiresInSeconds: number
  customer: Person | null
  payer: Person
  /** Its webhooks are delivered: those of this change, and of everything in the ledger before. */
  isTold: boolean
  code: { uri: string; chargeId: string } | null
  statuses: TransactionStatus[]
  dates: number[]
  amountPaid: number | null
  paidAt: number | null
  endToEnd: string | null
  fee: number | null
  disputedAt: number | null
  error: string | null
  refunds: (ShownRefund & { requestedAt: number; finishedAt: number | null; error: string | null })[]
  disputes: Dispute[]
}

export type Dispute = {
  id: string
  reference: string
  amount: number
  state: 'open' | 'accepted' | 'returned' | 'rejected'
  openedAt: number
  decidedAt: number | null
  finishedAt: number | null
  /** When the money goes back, once it is accepted, and under which ids. */
  returnsAt: number | null
  returnId: string
  returnEndToEnd: string | null
}

export type Scene = {
  random: Random
  sheets: Sheets
  /** The end of all that happens. */
  now: number
  /** From when on deliveries are kept, and the simulated network knows payments. */
  recently: number
  baseUrl: string
  acquirer: string
  receiver: string
  receiverIspb: string
}

export function expiresAt(sale: Sale): number {
  return sale.createdAt + sale.expiresInSeconds * 1000
}

/** Writes a status change with its event and, where the merchant is told, the delivery of it. */
export function move(scene: Scene, sale: Sale, to: TransactionStatus, moment: number): void {
  sale.statuses.push(to)
  sale.dates.push(moment)
  const { random, sheets } = scene
  const sequence = sale.statuses.length - 1
  const eventId = random.uuid()
  const isBirth = to === 'PIX_QRCODE_GENERATED'
  // biome-ignore format: by twos and threes, as the table's columns are listed
  sheets.add('events', [
    sale.merchant.id, eventId, `transaction.${to.toLowerCase()}`, 'transaction', sale.id, sequence, at(moment),
    isBirth ? null : snapshotOf(scene, sale),
  ])
  if (!sale.isTold || moment < scene.recently) return
  const attempts = random.chance(0.97) ? 1 : 2
  const secondAt = moment + 5_000
  const [durationMs, lastAt] = [random.between(20, 400), attempts === 1 ? moment : secondAt]
  // biome-ignore format: by twos and threes, as the table's columns are listed
  sheets.add('webhook_deliveries', [
    sale.merchant.id, eventId, sale.id, sequence, toUrl(sale), sale.merchant.receiver, 'delivered', attempts,
    at(lastAt), 200, at(moment), at(lastAt + durationMs),
  ])
  if (attempts === 2) {
    sheets.add('webhook_attempts', [sale.merchant.id, eventId, 1, at(moment), 15_000, null, 'timeout'])
  }
  sheets.add('webhook_attempts', [sale.merchant.id, eventId, attempts, at(lastAt), durationMs, 200, null])
}

/** What `toSnapshot` makes of a row, as JSON. Put together from parts that are JSON already it takes a fifth of the time. */
function snapshotOf({ acquirer, receiver }: Scene, sale: Sale): string {
  const { code, endToEnd, paidAt, disputedAt, error } = sale
  const quote = (text: string | null) => (text === null ? 'null' : `"${text}"`)
  const refunds = sale.refunds.map(({ requestedAt: _, finishedAt: __, error: ___, ...shown }) => shown)
  return `{"acquirer":"${acquirer}","pix_uri":${quote(code?.uri ?? null)},"pix_expires_at":${quote(code ? at(expiresAt(sale)) : null)},"statuses":["${sale.statuses.join('","')}"],"status_dates":["${sale.dates.map((moment) => at(moment)).join('","')}"],"amount_paid":${sale.amountPaid},"payment_date":${quote(at(paidAt))},"end_to_end":${quote(endToEnd)},"payer":${endToEnd === null ? null : sale.payer.payer},"receiver":${endToEnd === null ? null : receiver},"fee_amount":${sale.fee},"infraction_date":${quote(at(disputedAt))},"error_message":${quote(error)},"refunds":${refunds.length === 0 ? '[]' : JSON.stringify(refunds)},${disputesOf(sale)}}`
}

function disputesOf(sale: Sale): string {
  if (sale.disputes.length === 0) return '"amount_returned":0,"disputes":[],"returns":[]'
  const disputes = sale.disputes.map((one): ShownDispute => {
    const { id, amount, state, openedAt, finishedAt } = one
    const amountReturned = state === 'returned' ? amount : 0
    const shown = { id, amount, amountReturned, amountBlocked: finishedAt === null ? amount : 0 }
    const status = state.toUpperCase() as Uppercase<typeof state>
    const times = { openedAt: at(openedAt), deadline: at(openedAt + analysisMs), finishedAt: at(finishedAt) }
    return { ...shown, status, reason: 'golpe', ...times }
  })
  const returns = sale.disputes.flatMap(({ id, amount, state, finishedAt, returnEndToEnd }): ShownReturn[] =>
    state === 'returned' && finishedAt !== null
      ? [{ endToEndRefund: returnEndToEnd, amount, disputeId: id, date: at(finishedAt) }]
      : [],
  )
  return `"amount_returned":${sumOfReturned(sale)},"disputes":${JSON.stringify(disputes)},"returns":${JSON.stringify(returns)}`
}

function toUrl(sale: Sale): string | null {
  return sale.isTold && sale.merchant.receiver !== null ? `${sale.merchant.receiver}/webhooks/pix` : null
}

type Details = {
  idempotencyKey: string | null
  externalCode: string | null
  address: string | null
  items: string | null
  metadata: string | null
}

/** Writes a transaction that has come as far as it comes, with all that hangs on it. */
export function finish(scene: Scene, sale: Sale, details: Details, checkAt: number | null): void {
  const { sheets } = scene
  const { merchant, customer, code } = sale
  const isPaid = sale.endToEnd !== null
  // biome-ignore format: by twos and threes, as the table's columns are listed
  sheets.add('transactions', [
    sale.id, merchant.id, scene.acquirer, sale.amount, details.idempotencyKey, details.externalCode, toUrl(sale),
    details.address === null, customer?.customer ?? null, details.address, details.items, details.metadata,
    customer?.searchName ?? null, customer?.searchEmail ?? null, customer?.document ?? null,
    customer?.landlineDigits ?? null, customer?.mobileDigits ?? null, sale.expiresInSeconds,
    code?.uri ?? null, code ? at(expiresAt(sale)) : null, at(sale.createdAt),
    `{${sale.statuses.join()}}`, `{${sale.dates.map((moment) => at(moment)).join()}}`,
    ...[
      sale.amountPaid,
      at(sale.paidAt),
      sale.endToEnd,
      isPaid ? sale.payer.payer : null,
      isPaid ? scene.receiver : null,
    ],
    sale.fee, at(sale.disputedAt), sale.error, sumOfReturned(sale), at(checkAt),
  ])
  for (const refund of sale.refunds) {
    const isOpen = refund.status === 'PROCESSING'
    // biome-ignore format: by twos and threes, as the table's columns are listed
    sheets.add('refunds', [
      merchant.id, refund.id, sale.id, refund.amount, 0, refund.status, refund.endToEndRefund, refund.reason,
      `refund-${refund.id}`, refund.error, refund.createdAt, at(refund.finishedAt), isOpen ? at(scene.now) : null,
    ])
  }
  for (const one of sale.disputes) {
    const { id, reference, amount, state, openedAt, decidedAt, finishedAt } = one
    const returned = state === 'returned' ? amount : 0
    // biome-ignore format: by twos and threes, as the table's columns are listed
    sheets.add('infractions', [
      merchant.id, id, sale.id, reference, amount, 'golpe', state, at(openedAt), at(decidedAt), at(finishedAt),
      ...said[state], at(openedAt + analysisMs), finishedAt === null ? amount : 0, returned, finishedAt === null ? 1 : 2,
    ])
    if (finishedAt === null || returned === 0) continue
    // biome-ignore format: by twos and threes, as the table's columns are listed
    sheets.add('transaction_returns', [
      merchant.id, one.returnId, sale.id, id, one.returnId.replaceAll('-', ''), one.returnEndToEnd, amount,
      at(finishedAt), at(finishedAt),
    ])
  }
  addToNetwork(scene, sale, checkAt !== null)
}

/** What the acquirer says of a dispute in each state: ACEITA is its last word of one that it returned. */
const said = {
  open: ['ABERTA', 'open'],
  accepted: ['ACEITA', 'accepted'],
  returned: ['ACEITA', 'accepted'],
  rejected: ['REJEITADA', 'rejected'],
} as const

/** So long the simulated bank analyses a dispute. */
const analysisMs = 7 * 24 * 60 * 60_000

function sumOfReturned({ disputes }: Sale): number {
  return disputes.reduce((sum, { state, amount }) => sum + (state === 'returned' ? amount : 0), 0)
}

/** What the simulated network has to know: codes that can still be paid, and payments that may be returned or were. */
function addToNetwork(scene: Scene, sale: Sale, isOpen: boolean): void {
  const { code, endToEnd, paidAt } = sale
  const isMoved = sale.refunds.length + sale.disputes.length > 0
  if (!code || !(isOpen || isMoved || (paidAt !== null && paidAt >= scene.recently))) return
  const { sheets } = scene
  // biome-ignore format: by twos and threes, as the table's columns are listed
  sheets.add('simulator.charges', [
    ...[
      code.chargeId,
      sale.id.replaceAll('-', ''),
      sale.amount,
      sale.expiresInSeconds,
      at(sale.createdAt),
      scene.baseUrl,
    ],
  ])
  if (endToEnd === null || paidAt === null) return
  sheets.add('simulator.pix', [endToEnd, code.chargeId, sale.amount, at(paidAt), sale.payer.payer])
  for (const { id, amount, endToEndRefund, requestedAt, finishedAt, status } of sale.refunds) {
    // One that is under way has not been sent yet; one that failed had been rejected.
    if (status === 'PROCESSING') continue
    // biome-ignore format: by twos and threes, as the table's columns are listed
    sheets.add('simulator.returns', [
      endToEnd, id.replaceAll('-', ''), endToEndRefund ?? newReturnId(scene, requestedAt), amount, 'ORIGINAL',
      at(requestedAt), at(finishedAt), status === 'FAILED' ? 'AM04' : null,
    ])
  }
  for (const { reference, amount, state, openedAt, decidedAt, returnsAt, returnId, returnEndToEnd } of sale.disputes) {
    // biome-ignore format: by twos and threes, as the table's columns are listed
    sheets.add('simulator.infractions', [
      reference, endToEnd, amount, 'fraud', state === 'returned' ? 'accepted' : state, at(openedAt),
      at(decidedAt ?? openedAt), at(returnsAt),
    ])
    if (returnsAt === null || decidedAt === null) continue
    // biome-ignore format: by twos and threes, as the table's columns are listed
    sheets.add('simulator.returns', [
      endToEnd, returnId.replaceAll('-', ''), returnEndToEnd, amount, 'MED_FRAUDE',
      at(decidedAt), at(returnsAt), null,
    ])
  }
}

export function newEndToEndId({ random }: Scene, payer: Person, moment: number): string {
  const ispb = /"ispb":"(\w{8})"/.exec(payer.payer)?.[1] ?? '00000000'
  return `E${ispb}${minuteOf(moment)}${random.letters(11)}`
}

export function newReturnId({ random, receiverIspb }: Scene, moment: number): string {
  return `D${receiverIspb}${minuteOf(moment)}${random.letters(11)}`
}

function minuteOf(moment: number): string {
  const text = at(moment)
  return text.slice(0, 4) + text.slice(5, 7) + text.slice(8, 10) + text.slice(11, 13) + text.slice(14, 16)
}
