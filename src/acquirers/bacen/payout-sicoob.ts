import { assert } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { toReais } from '../../lib/money.ts'
import {
  AcquirerUnavailable,
  type MoneyOut,
  NeedsPerson,
  type PayoutFound,
  type PayoutKey,
  type PayoutOrder,
  type PayoutPrepared,
  type PayoutSent,
  type Payouts,
  UnreadableAnswer,
} from '../acquirer.ts'
import { type Answer, type Client, foundOrNull } from './client.ts'
import type { ProtocolProfile } from './profile.ts'
import { amount, anyText, dateTime, type Json, text } from './read.ts'
import { explainRejection } from './spi-codes.ts'

type Deps = { client: Client; paths: ProtocolProfile['paths']; clock: Clock; onUnknownState: (state: string) => void }

type SendInput = Parameters<Payouts['send']>[0]

const endToEndIdShape = /^[A-Za-z0-9]{32}$/

/**
 * Payouts of Sicoob's API Pix Pagamentos. `POST /pagamentos` looks up the key and returns an endToEndId; no money
 * moves. Only `POST /pagamentos/confirmacao` sends it, under that id: repeated confirmations of one id are one payment.
 */
export function createSicoobPayouts(deps: Deps): Payouts {
  return {
    prepare: (order) => prepare(deps, order),
    send: (order) => send(deps, order),
    find: (key) => find(deps, key),
    reportsReturns: false,
    list: null,
  }
}

async function prepare({ client, paths }: Deps, { pixKey }: PayoutOrder): Promise<PayoutPrepared> {
  const answer = await client({ method: 'POST', path: paths.payout, body: { chave: pixKey.key }, isOnce: true })
  if (!answer.ok) return { outcome: 'refused', reason: reasonOf(answer) }
  const reference = text(answer.body, 'endToEndId')
  if (!reference || !endToEndIdShape.test(reference))
    throw new AcquirerUnavailable('The acquirer began a payout and returned no endToEndId')
  return { outcome: 'prepared', reference }
}

/**
 * A refusal may answer a repeat of an accepted request. It is certain that no money left only if nothing is found under
 * its id.
 */
async function send(deps: Deps, order: SendInput): Promise<PayoutSent> {
  const { reference } = order
  assert(reference, 'a payout at Sicoob has an endToEndId before it is sent')
  const answer = await deps.client({
    method: 'POST',
    path: `${deps.paths.payout}/confirmacao`,
    body: { endToEndId: reference, valor: toReais(order.amount).replace('.', ','), meioIniciacao: 'CHAVE' },
    isOnce: true,
  })
  if (answer.ok) return read(deps, { reference, amount: order.amount }, answer.body) ?? processing(reference)
  const reason = reasonOf(answer)
  const existing = await query(deps, reference)
  const found = existing && read(deps, { reference, amount: order.amount }, existing)
  return found ?? { outcome: 'refused', reason }
}

async function find(deps: Deps, { reference, isReferenceLost }: PayoutKey): Promise<PayoutFound | null> {
  if (!reference && isReferenceLost)
    throw new NeedsPerson(
      'The database may have lost the endToEndId under which a payout was confirmed at Sicoob: search its statement for the amount and the key',
    )
  // The reference is stored before a payout is confirmed: without one, nothing was confirmed.
  if (!reference) return null
  const body = await query(deps, reference)
  return body && read(deps, { reference }, body)
}

/** `GET /pagamentos/{endToEndId}`: null only when the PSP itself says that there is none. */
async function query({ client, paths }: Deps, reference: string): Promise<Json | null> {
  return foundOrNull(await client({ method: 'GET', path: `${paths.payout}/${encodeURIComponent(reference)}` }))
}

/** Null for a payout that was not carried out: it may have been begun and not confirmed, and can still be confirmed. */
function read(
  { clock, onUnknownState }: Deps,
  payment: { reference: string; amount?: number },
  body: Json,
): PayoutFound | null {
  const sent = amount(body, 'valor')
  const isOther = (text(body, 'endToEndId') ?? payment.reference) !== payment.reference
  if (isOther || sent === null || (payment.amount !== undefined && sent !== payment.amount))
    throw new UnreadableAnswer('The acquirer answered with another payout than the requested one')
  const state = (text(body, 'estado') ?? '').normalize('NFD').replace(/\p{M}/gu, '')
  switch (state) {
    case 'FINALIZADO':
      return {
        outcome: 'done',
        endToEndId: payment.reference,
        at: dateTime(body, 'horario') ?? clock.now(),
        // `destino` has no check digit, and the document may be masked.
        receiver: null,
      }
    case 'REJEITADO':
      return {
        outcome: 'refused',
        reason: explainRejection({ code: null, description: anyText(body, 'detalheRejeicao') }),
      }
    case 'NAO_REALIZADO':
      return null
    case 'EM_PROCESSAMENTO':
      return processing(payment.reference)
    default:
      onUnknownState(state)
      return processing(payment.reference)
  }
}

function processing(endToEndId: string): MoneyOut {
  return { outcome: 'processing', endToEndId }
}

/** The documentation also shows "service unavailable" with HTTP 400: that is not a refusal. */
function reasonOf({ body, reason }: Extract<Answer, { ok: false }>): string {
  if (body.status === 503 || /ServicoIndisponivel$/.test(text(body, 'type') ?? ''))
    throw new AcquirerUnavailable(`The acquirer is not available: ${reason}`)
  return reason
}
