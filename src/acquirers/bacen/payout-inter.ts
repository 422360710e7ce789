import { assert } from '../../lib/assert.ts'
import { fromWallTime } from '../../lib/brasilia.ts'
import type { Clock } from '../../lib/clock.ts'
import { fromTxid } from '../../pix/ids.ts'
import {
  AcquirerUnavailable,
  type MoneyOut,
  NeedsPerson,
  type PayoutFound,
  type PayoutKey,
  type PayoutOrder,
  type PayoutSent,
  type Payouts,
  UnreadableAnswer,
} from '../acquirer.ts'
import type { Client } from './client.ts'
import type { ProtocolProfile } from './profile.ts'
import { anyText, dateTime, isRecord, type Json, list, record, text } from './read.ts'
import { explainRejection } from './spi-codes.ts'

type Deps = { client: Client; paths: ProtocolProfile['paths']; clock: Clock; onUnknownState: (state: string) => void }

/**
 * How long a request may be repeated under the same `x-id-idempotente`. Inter documents that the header prevents a
 * second payment, but not for how long: we assume at least an hour.
 */
const repeatableMs = 60 * 60_000

/**
 * Payouts of Banco Inter's API Banking: `POST /banking/v2/pix` returns a `codigoSolicitacao`, the only id by which the
 * payout can be queried.
 */
export function createInterPayouts(deps: Deps): Payouts {
  return {
    prepare: null,
    send: (order) => send(deps, order),
    find: (key) => find(deps, key),
    reportsReturns: false,
    list: null,
  }
}

/**
 * When the answer is lost, so is the `codigoSolicitacao`. The same request under the same `x-id-idempotente` returns it
 * again. The refusal of such a repeat proves nothing: the first request may be its reason.
 */
async function send(deps: Deps, order: Parameters<Payouts['send']>[0]): Promise<PayoutSent> {
  const { payoutId, firstRequestedAt, reference } = order
  if (reference) return (await find(deps, { payoutId, reference })) ?? processing(reference)
  requireRepeatable(deps, order)
  const answer = await deps.client({
    method: 'POST',
    path: deps.paths.payout,
    headers: { 'x-id-idempotente': toUuid(payoutId) },
    body: toBody(order),
    isOnce: true,
  })
  if (!answer.ok && firstRequestedAt)
    throw new NeedsPerson(`Banco Inter refused the repeat of a payout whose first answer was lost: ${answer.reason}`)
  if (!answer.ok) return { outcome: 'refused', reason: answer.reason }
  const code = text(answer.body, 'codigoSolicitacao')
  if (!code) throw new AcquirerUnavailable('The acquirer accepted a payout and returned no codigoSolicitacao')
  return { outcome: 'processing', endToEndId: text(answer.body, 'endToEndId'), reference: code }
}

function toBody({ payoutId, amount, pixKey }: PayoutOrder) {
  // Inter's statement shows the description: a person finds the payout by it.
  return { valor: amount / 100, descricao: payoutId, destinatario: { tipo: 'CHAVE', chave: pixKey.key } }
}

function requireRepeatable({ clock }: Deps, { payoutId, firstRequestedAt }: PayoutKey): void {
  if (firstRequestedAt && clock.now().getTime() - firstRequestedAt.getTime() > repeatableMs)
    throw new NeedsPerson(
      `Banco Inter’s answer to a payout was lost, and it is too late to repeat the request under the same key: search its statement for the description ${payoutId}`,
    )
}

/** Without a reference there is nothing to query: only the repeated request can return it. */
async function find(deps: Deps, key: PayoutKey): Promise<PayoutFound | null> {
  const { payoutId, reference } = key
  if (!reference) {
    // Checked here too, because `send` is not reached during a payout freeze: without this a person could not enter the
    // outcome.
    requireRepeatable(deps, key)
    return null
  }
  const path = `${deps.paths.payout}/${encodeURIComponent(reference)}`
  const answer = await deps.client({ method: 'GET', path })
  // Inter issued this id, so a refusal does not prove that there is no payout: null would send it once more.
  if (!answer.ok) throw new AcquirerUnavailable(`The acquirer refused to report payout ${payoutId}: ${answer.reason}`)
  return read(deps, reference, record(answer.body, 'transacaoPix'))
}

function read({ clock, onUnknownState }: Deps, reference: string, payout: Json): PayoutFound {
  const state = text(payout, 'status')
  const code = text(payout, 'codigoSolicitacao') ?? reference
  if (state === null) throw new UnreadableAnswer('The acquirer answered with a payout that cannot be read')
  if (code.toLowerCase() !== reference.toLowerCase())
    throw new UnreadableAnswer('The acquirer answered with another payout than the requested one')
  const endToEndId = text(payout, 'endToEnd')
  if (refusedStates.has(state)) return { outcome: 'refused', reason: readReason(payout, state) }
  if (doneStates.has(state)) {
    const at = timeOf(payout, 'dataHoraMovimento') ?? timeOf(payout, 'dataHoraSolicitacao') ?? clock.now()
    // A CPF is masked, and a payout to a key comes without its account.
    return { outcome: 'done', endToEndId, at, receiver: null }
  }
  if (!openStates.has(state)) onUnknownState(state)
  return processing(reference, endToEndId)
}

function processing(reference: string, endToEndId: string | null = null): MoneyOut & { reference: string } {
  return { outcome: 'processing', endToEndId, reference }
}

// From the documentation of the API Banking, and the further states that the SDK names.
const doneStates = new Set(['PAGO', 'PIX_PAGO'])
const refusedStates = new Set([
  ...['REPROVADO', 'EXPIRADO', 'CANCELADO', 'CANCELADO_SEM_SALDO', 'AGENDAMENTO_CANCELADO', 'NAO_DEBITADO', 'FALHA'],
])
const openStates = new Set([
  ...['CRIADO', 'AGUARDANDO_APROVACAO', 'APROVADO', 'AGENDADO', 'ENVIADO', 'DEBITADO', 'PARCIALMENTE_DEBITADO'],
  ...['PARCIALMENTE_PAGO', 'TRANSACAO_CRIADA', 'TRANSACAO_APROVADA', 'PIX_ENVIADO'],
])

function readReason(payout: Json, state: string): string {
  const [error = {}] = (list(payout, 'erros') ?? []).filter(isRecord)
  const code = text(error, 'codigoErroComplementar') ?? text(error, 'codigoErro')
  return explainRejection({ code: code ?? state, description: anyText(error, 'descricaoErro') })
}

/** Inter writes some times without an offset: they are in Brasília time. */
function timeOf(payout: Json, name: string): Date | null {
  const time = text(payout, name)?.replace(' ', 'T') ?? ''
  const read = dateTime({ time }, 'time')
  const hasOffset = /(Z|[+-]\d\d:?\d\d)$/i.test(time)
  // What has no offset was read as UTC.
  return read && !hasOffset ? fromWallTime(read.getTime()) : read
}

/** Our own id as a UUID, as the header wants it. */
function toUuid(payoutId: string): string {
  const uuid = fromTxid(payoutId)
  assert(uuid, 'the id of a payout is a UUID without hyphens')
  return uuid
}
