import { assert } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { toReais } from '../../lib/money.ts'
import { type MoneyOut, type RefundInput, UnreadableAnswer } from '../acquirer.ts'
import { type Client, foundOrNull } from './client.ts'
import type { ProtocolProfile } from './profile.ts'
import { amount, anyText, dateTime, type Json, record, text } from './read.ts'
import { explainRejection, isTemporaryRejection } from './spi-codes.ts'

type Deps = { client: Client; paths: ProtocolProfile['paths']; clock: Clock }

type RefundId = { endToEndId: string; refundId: string }

const refundIdShape = /^[a-zA-Z0-9]{1,35}$/

/**
 * `PUT /pix/{e2eid}/devolucao/{id}`. A PSP may refuse the repeat of a request that it has accepted, and each PSP words
 * it differently. Only if no refund is found under our id is it certain that no money left.
 */
export async function refund(deps: Deps, input: RefundInput): Promise<MoneyOut> {
  const answer = await deps.client({
    method: 'PUT',
    path: toPath(deps, input),
    body: { valor: toReais(input.amount) },
    isOnce: true,
  })
  if (answer.ok) return readRefund(deps, input, answer.body)
  const existing = foundOrNull(await deps.client({ method: 'GET', path: toPath(deps, input) }))
  return existing ? readRefund(deps, input, existing) : { outcome: 'refused', reason: answer.reason }
}

/** `GET /pix/{e2eid}/devolucao/{id}`: null only when the PSP itself says that there is none. */
export async function findRefund(deps: Deps, id: RefundId): Promise<MoneyOut | null> {
  const body = foundOrNull(await deps.client({ method: 'GET', path: toPath(deps, id) }))
  return body && readRefund(deps, id, body)
}

function toPath({ paths }: Deps, { endToEndId, refundId }: RefundId): string {
  assert(refundIdShape.test(refundId), 'the id of a refund has 1 to 35 letters and digits')
  return `${paths.pix}/${encodeURIComponent(endToEndId)}/devolucao/${refundId}`
}

function readRefund({ clock }: Deps, requested: RefundId & Partial<RefundInput>, body: Json): MoneyOut {
  const refunded = amount(body, 'valor')
  // Some PSPs return the id in another letter case.
  const isOther = (text(body, 'id') ?? requested.refundId).toLowerCase() !== requested.refundId.toLowerCase()
  if (isOther || refunded === null || (requested.amount !== undefined && refunded !== requested.amount)) {
    throw new UnreadableAnswer(
      'The acquirer answered with a refund that does not match the requested one, or that cannot be read',
    )
  }
  const endToEndId = text(body, 'rtrId')
  const status = text(body, 'status')
  if (status === 'NAO_REALIZADO') {
    const description = anyText(body, 'motivo')
    const reason = explainRejection({ code: null, description })
    return { outcome: 'refused', reason, ...(isTemporaryRejection(description) && { isTemporary: true as const }) }
  }
  if (status !== 'DEVOLVIDO') return { outcome: 'processing', endToEndId }
  const times = record(body, 'horario')
  // Both are optional in the standard: a refund without a time is done all the same.
  const at = dateTime(times, 'liquidacao') ?? dateTime(times, 'solicitacao') ?? clock.now()
  return { outcome: 'done', endToEndId, at, receiver: null }
}
