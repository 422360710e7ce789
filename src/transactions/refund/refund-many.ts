import type { By } from '../../audit/record.ts'
import { AppError, type ErrorCode, errors, type FieldError, invalidFields } from '../../lib/errors.ts'
import { findOwners } from '../owner-store.ts'
import { type RefundDeps, refundTransaction } from './refund.ts'

/** Two pages and a half of the list: a person has seen each row, and the answer comes within a second. */
export const refundsTogetherMax = 50

type Refusal = { code: ErrorCode; fields: Pick<FieldError, 'field' | 'code' | 'limit' | 'unit'>[] }
/** What became of one of several refunds; `error` is null if it was accepted. */
export type RefundResult = { status: number; error: Refusal | null }

export type ManyRefunds = {
  /** Made by the browser for one confirmation: the same request again refunds nothing twice. */
  batchId: string
  reason?: string
  /** `amount`: what the person saw as left. A refund of more than is left now is refused. */
  refunds: { id: string; amount: number }[]
}

/**
 * Refunds several transactions, each as if it were the only one, in a commit of its own: one that is refused stops no
 * other. The results have the order of the request.
 *
 * @throws {AppError} `validation_failed` if a transaction is named twice
 */
export async function refundMany(
  deps: RefundDeps,
  { batchId, reason, refunds }: ManyRefunds,
  { by, merchantId: seen }: { by: By; merchantId: string | null },
): Promise<RefundResult[]> {
  const requested = refunds.map(({ id, amount }) => ({ id: id.toLowerCase(), amount }))
  refuseTwice(requested.map(({ id }) => id))
  const owners = await findOwners(
    deps.db,
    requested.map(({ id }) => id),
  )
  const ownerOf = new Map(owners.map(({ id, merchant_id: merchantId }) => [id, merchantId]))
  const results: RefundResult[] = []
  for (const { id, amount } of requested) {
    const merchantId = ownerOf.get(id)
    if (merchantId === undefined || (seen !== null && merchantId !== seen)) {
      results.push(toResult('not_found', []))
      continue
    }
    const idempotencyKey = `dashboard-${batchId.toLowerCase()}-${id}`
    const input = { amount, idempotencyKey, ...(reason !== undefined && { reason }) }
    results.push(await refundOne(deps, { merchantId, transactionId: id, by, input }))
  }
  return results
}

async function refundOne(deps: RefundDeps, refunding: Parameters<typeof refundTransaction>[1]): Promise<RefundResult> {
  try {
    await refundTransaction(deps, refunding)
    return { status: 201, error: null }
  } catch (error) {
    // Anything else leaves the outcome open: the browser repeats the whole request.
    if (!(error instanceof AppError) || !refusals.includes(error.code)) throw error
    return toResult(error.code, error.details.fields ?? [])
  }
}

const refusals: ErrorCode[] = [
  ...(['not_found', 'refund_not_possible', 'insufficient_balance'] as const),
  ...(['idempotency_key_reused', 'rate_limited', 'payouts_stopped'] as const),
]

function toResult(code: ErrorCode, fields: FieldError[]): RefundResult {
  // The dashboard words the reason from these.
  const named = fields.map(({ field, code: why, limit, unit }) => ({
    ...{ field, code: why },
    ...(limit !== undefined && { limit }),
    ...(unit !== undefined && { unit }),
  }))
  return { status: errors[code].status, error: { code, fields: named } }
}

function refuseTwice(ids: string[]): void {
  const fields = ids.flatMap((id, index): FieldError[] =>
    ids.indexOf(id) === index
      ? []
      : [{ field: `refunds[${index}].id`, code: 'duplicate', message: 'is in the list twice' }],
  )
  if (fields.length > 0) throw invalidFields(fields)
}
