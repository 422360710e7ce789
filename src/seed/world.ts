import { computeFee } from '../ledger/fees.ts'
import {
  disputed,
  infractionReleased,
  infractionReturned,
  paid,
  released,
  reserved,
  sent,
} from '../ledger/transfers.ts'
import { expiredMessage, expiryGraceMs } from '../transactions/check.ts'
import type { SeedLedger } from './ledger.ts'
import { createDraw, type Merchant } from './merchants.ts'
import { makeAddress, makePerson, type Person } from './people.ts'
import { type Dispute, expiresAt, finish, move, newEndToEndId, newReturnId, type Sale, type Scene } from './sale.ts'
import { at as toText } from './sheets.ts'
import { createTimetable } from './timetable.ts'

const second = 1_000
const hour = 3_600_000
const day = 24 * hour

/** So many in a thousand of all transactions, or of those that were paid. */
const refusedByAcquirer = 0.003
const paidInTheEnd = 0.76
const refunded = 0.016
const disputedAfterwards = 0.001

/** No merchant of ours has many more customers than these, and a customer buys more than once. */
const personsMax = 50_000

type World = {
  scene: Scene
  ledger: SeedLedger
  merchants: readonly Merchant[]
  transactions: number
  days: number
  makeCode: (id: string) => { uri: string; chargeId: string }
}

/**
 * What becomes of a payment afterwards. Samples are there for each kind to be found, however few transactions there are: early ones come to
 * their end in time, and late ones are under way in the end.
 */
type Sequel = {
  kind: 'refund' | 'dispute'
  outcome: 'whole' | 'part' | 'failed' | 'accepted' | 'rejected' | 'none'
  sample: 'early' | 'late' | null
}

/**
 * Lets so many transactions happen, in the order of time, into the scene's sheets. Yields after each, so that what is written can be taken
 * away.
 */
export function* runWorld(world: World): Generator<void> {
  const { scene, ledger, merchants, transactions } = world
  const { random, now } = scene
  const draw = createDraw(random, merchants)
  const persons = Array.from({ length: Math.min(personsMax, Math.ceil(transactions / 5)) }, () => makePerson(random))
  const anyPerson = (): Person => persons[random.below(persons.length)] ?? makePerson(random)
  const timetable = createTimetable()
  let births = 0

  for (const createdAt of momentsOf(world)) {
    timetable.runUntil(createdAt)
    beginSale(createdAt, sampleSequel(births))
    births += 1
    yield
  }
  timetable.runUntil(now)

  function sampleSequel(birth: number): Sequel | null {
    if (transactions < 200) return null
    const early = birth - Math.floor(transactions * 0.4)
    const late = birth - Math.floor(transactions * 0.95)
    return earlySamples[early] ?? lateSamples[late] ?? null
  }

  function beginSale(createdAt: number, sample: Sequel | null): void {
    const merchant = draw()
    merchant.orders += 1
    const isRefused = sample === null && random.chance(refusedByAcquirer)
    const id = random.uuid()
    const customer = random.chance(0.85) ? anyPerson() : null
    const expiresInSeconds = random.pick([900, 1800, 1800, 3600, 86_400])
    // Half within a minute and a quarter, some only the next day.
    const hesitates = Math.exp(Math.log(75 * second) + 1.2 * random.normal())
    const isPaid =
      sample !== null || (!isRefused && random.chance(paidInTheEnd) && hesitates < expiresInSeconds * second)
    const answeredAt = createdAt + random.between(8, 60)
    const settlesAt = isRefused
      ? answeredAt
      : isPaid
        ? answeredAt + Math.round(sample ? Math.min(hesitates, 300 * second) : hesitates)
        : createdAt + expiresInSeconds * second + expiryGraceMs + random.between(0, 5_000)
    const sequel = sample ?? (isPaid ? drawSequel() : null)
    const sale: Sale = {
      ...{
        id,
        merchant,
        order: merchant.orders,
        createdAt,
        expiresInSeconds,
        customer,
        payer: customer ?? anyPerson(),
      },
      amount: drawAmount(merchant),
      // Only of what is over: nothing is to be sent to these addresses any more.
      isTold: merchant.receiver !== null && sequel === null && settlesAt <= now && random.chance(0.95),
      code: isRefused ? null : world.makeCode(id),
      ...{ statuses: ['PENDING'], dates: [createdAt], refunds: [], disputes: [] },
      ...{ amountPaid: null, paidAt: null, endToEnd: null, fee: null, disputedAt: null, error: null },
    }
    if (isRefused) {
      refuse(sale, answeredAt)
      return
    }
    move(scene, sale, 'PIX_QRCODE_GENERATED', answeredAt)
    if (settlesAt > now) end(sale, expiresAt(sale) + expiryGraceMs)
    else timetable.add(settlesAt, isPaid ? (at) => pay(sale, sequel, at) : (at) => expire(sale, at))
  }

  function drawSequel(): Sequel | null {
    const chance = random.next()
    if (chance > refunded + disputedAfterwards) return null
    const outcome = random.next()
    return chance < refunded
      ? { kind: 'refund', sample: null, outcome: outcome < 0.7 ? 'whole' : outcome < 0.94 ? 'part' : 'failed' }
      : { kind: 'dispute', sample: null, outcome: outcome < 0.6 ? 'accepted' : 'rejected' }
  }

  function drawAmount({ medianAmount }: Merchant): number {
    const amount = Math.round(Math.exp(Math.log(medianAmount) + 0.9 * random.normal()))
    // Prices end in 90 or 00 more often than not.
    const price = random.chance(0.6) ? Math.round(amount / 100) * 100 - random.pick([0, 10]) : amount
    return Math.max(100, Math.min(10_000_000, price))
  }

  function refuse(sale: Sale, at: number): void {
    sale.error = 'O valor da cobrança excede o limite da conta'
    move(scene, sale, 'FAILED', at)
    end(sale)
  }

  function expire(sale: Sale, at: number): void {
    sale.error = expiredMessage
    move(scene, sale, 'FAILED', at)
    end(sale)
  }

  function pay(sale: Sale, sequel: Sequel | null, at: number): void {
    const { id, merchant, amount } = sale
    sale.paidAt = at - random.between(100, 900)
    sale.endToEnd = newEndToEndId(scene, sale.payer, sale.paidAt)
    sale.amountPaid = amount
    sale.fee = Math.min(amount, computeFee(merchant.feeRule, amount))
    move(scene, sale, 'PAID', at)
    ledger.post(
      { merchant, eventKey: `transaction:${id}:paid`, recordType: 'transaction', recordId: id, moment: at },
      paid(amount, sale.fee),
    )
    if (sequel === null) {
      end(sale)
      return
    }
    if (sequel.kind === 'refund') {
      const waits =
        sequel.sample === 'late' ? now - at - random.between(1, 60) * second : -Math.log(1 - random.next()) * 2 * day
      later(sale, at + waits, (then) => refund(sale, sequel, then))
      return
    }
    const waits = sequel.sample === null ? random.next() * 20 * day : sequel.sample === 'late' ? now - at - hour : hour
    later(sale, at + waits, (then) => dispute(sale, sequel, then))
  }

  /** What would happen after the end has not happened: the transaction stays as it is. */
  function later(sale: Sale, at: number, work: (at: number) => void): void {
    const moment = Math.max(Math.round(at), (sale.dates.at(-1) ?? 0) + 1)
    if (moment > now) end(sale)
    else timetable.add(moment, work)
  }

  function refund(sale: Sale, { outcome, sample }: Sequel, at: number): void {
    const { merchant, amount: whole } = sale
    const amount = outcome === 'part' ? Math.max(1, Math.round(whole * random.pick([0.25, 0.3, 0.5]))) : whole
    // The merchant has not the money, and so asked for no refund.
    if (merchant.balances.available < amount) {
      end(sale)
      return
    }
    const one: Sale['refunds'][number] = {
      // In the order in which a transaction shows them.
      ...{ id: random.uuid(), amount, status: 'PROCESSING', endToEndRefund: null },
      ...{ reason: random.pick(['Desistência', 'Produto indisponível', 'Valor errado', null]), createdAt: toText(at) },
      ...{ requestedAt: at, finishedAt: null, error: null },
    }
    const about = { merchant, recordType: 'refund', recordId: one.id } as const
    sale.refunds.push(one)
    move(scene, sale, 'PROCESSING_REFUND', at)
    ledger.post({ ...about, eventKey: `refund:${one.id}:reserved`, moment: at }, reserved('refund_reserved', amount, 0))
    later(sale, at + (sample === 'late' ? 2 * hour : random.between(300, 3_000)), (then) => {
      const isDone = outcome !== 'failed'
      one.finishedAt = then
      one.status = isDone ? 'REFUNDED' : 'FAILED'
      one.endToEndRefund = isDone ? newReturnId(scene, then) : null
      one.error = isDone ? null : 'Saldo insuficiente na conta (AM04)'
      sale.error = one.error
      move(scene, sale, isDone && amount === whole ? 'REFUNDED' : 'PAID', then)
      const eventKey = `refund:${one.id}:${isDone ? 'sent' : 'released'}`
      const transfers = isDone ? sent('refund_sent', amount, 0) : released('refund_released', amount, 0)
      ledger.post({ ...about, eventKey, moment: then }, transfers)
      end(sale)
    })
  }

  function dispute(sale: Sale, { outcome, sample }: Sequel, at: number): void {
    const { merchant, amount } = sale
    // A debt would be the outcome, and this world has none.
    if (merchant.balances.available < amount) {
      end(sale)
      return
    }
    const one: Dispute = {
      ...{ id: random.uuid(), reference: random.uuid(), amount, state: 'open', openedAt: at },
      ...{ decidedAt: null, finishedAt: null, returnsAt: null, returnId: random.uuid(), returnEndToEnd: null },
    }
    const about = { merchant, recordType: 'infraction', recordId: one.id } as const
    sale.disputes.push(one)
    sale.disputedAt = at
    move(scene, sale, 'BLOCKED', at)
    ledger.post({ ...about, eventKey: `infraction:${one.id}:blocked`, moment: at }, disputed(amount))
    if (outcome === 'none') {
      end(sale)
      return
    }
    later(sale, at + (sample === null ? random.between(1, 7) * day : hour / 2), (then) => {
      one.decidedAt = then
      if (outcome === 'rejected') {
        one.state = 'rejected'
        one.finishedAt = then
        move(scene, sale, 'PAID', then)
        ledger.post({ ...about, eventKey: `infraction:${one.id}:released`, moment: then }, infractionReleased(amount))
        end(sale)
        return
      }
      one.state = 'accepted'
      one.returnsAt = then + (sample === 'early' ? 1 : random.between(24, 96)) * hour
      one.returnEndToEnd = newReturnId(scene, then)
      move(scene, sale, 'PROCESSING_INFRACTION', then)
      later(sale, one.returnsAt, (finally_) => {
        one.state = 'returned'
        one.finishedAt = finally_
        move(scene, sale, 'INFRACTION', finally_)
        ledger.post(
          { ...about, eventKey: `infraction:${one.id}:returned`, moment: finally_ },
          infractionReturned(amount),
        )
        end(sale)
      })
    })
  }

  function end(sale: Sale, checkAt: number | null = null): void {
    const { merchant, amount } = sale
    const order = `${merchant.clientId}-${String(sale.order).padStart(7, '0')}`
    const isRefused = sale.code === null
    const details = {
      idempotencyKey: !isRefused && random.chance(0.7) ? `${order}-${random.letters(8)}` : null,
      externalCode: random.chance(0.85) ? order : null,
      address: merchant.sellsGoods ? makeAddress(random) : null,
      items: random.chance(0.3)
        ? JSON.stringify([{ title: random.pick(titles), unitPrice: amount, quantity: 1 }])
        : null,
      metadata: random.chance(0.25) ? `{"cart":"${random.digits(6)}","channel":"${random.pick(channels)}"}` : null,
    }
    finish(scene, sale, details, checkAt)
  }
}

const titles = ['Café torrado 500 g', 'Curso de violão', 'Camiseta', 'Assinatura mensal', 'Livro', 'Ingresso'] as const
const channels = ['web', 'app', 'loja'] as const

const earlySamples: Sequel[] = [
  { kind: 'refund', outcome: 'whole', sample: 'early' },
  { kind: 'refund', outcome: 'part', sample: 'early' },
  { kind: 'refund', outcome: 'failed', sample: 'early' },
  { kind: 'dispute', outcome: 'accepted', sample: 'early' },
  { kind: 'dispute', outcome: 'rejected', sample: 'early' },
]
const lateSamples: Sequel[] = [
  { kind: 'refund', outcome: 'whole', sample: 'late' },
  { kind: 'dispute', outcome: 'none', sample: 'late' },
  { kind: 'dispute', outcome: 'accepted', sample: 'late' },
]

/** How busy each hour of a day is, in São Paulo (three hours behind UTC), beginning at midnight UTC. */
const hourWeights = [9, 7, 5, 3, 2, 1, 1, 1, 1, 2, 3, 5, 7, 9, 10, 10, 9, 9, 9, 9, 9, 9, 10, 10]
/** Sundays are quiet, and business grows by a third. */
const weekdayWeights = [0.7, 1, 1, 1, 1.05, 1.15, 0.95]

/** The moments of all births in order: hour by hour, in each hour evenly with some disorder. */
function* momentsOf({ scene, transactions, days }: World): Generator<number> {
  const hours = days * 24
  const start = scene.now - hours * hour
  const weights = Array.from({ length: hours }, (_, index) => {
    const date = new Date(start + index * hour)
    const growth = 1 + index / hours / 3
    return growth * (hourWeights[date.getUTCHours()] ?? 1) * (weekdayWeights[date.getUTCDay()] ?? 1)
  })
  const whole = weights.reduce((sum, weight) => sum + weight, 0)
  let done = 0
  let weighed = 0
  for (const [index, weight] of weights.entries()) {
    weighed += weight
    const count = Math.round((transactions * weighed) / whole) - done
    for (let place = 0; place < count; place += 1)
      yield Math.floor(start + (index + (place + scene.random.next()) / count) * hour)
    done += count
  }
}
