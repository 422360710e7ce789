import { assert } from '../lib/assert.ts'
import { normalizePixKey } from '../pix/key.ts'
import type { CreateWithdrawalInput } from './schema.ts'
import type { WithdrawalRow } from './store.ts'

/**
 * The content of a create request, with its key in normal form. Two requests with equal content request the same
 * withdrawal. The fields are named as in the request.
 */
export type WithdrawalContent = ReturnType<typeof toContent>

export function toContent(input: CreateWithdrawalInput) {
  const pixKey = normalizePixKey(input.pixKey)
  assert(pixKey, 'a key was validated with its request')
  return {
    amount: input.amount,
    method: input.method,
    pixKey,
    webhookUrl: input.webhookUrl ?? null,
    externalCode: input.externalCode ?? null,
    metadata: input.metadata ?? null,
  }
}

/** The content from which a stored withdrawal was created. */
export function contentOf(row: WithdrawalRow): WithdrawalContent {
  return {
    amount: row.amount,
    method: 'PIX',
    pixKey: { key: row.pix_key, type: row.pix_key_type },
    webhookUrl: row.webhook_url,
    externalCode: row.external_code,
    metadata: row.metadata,
  }
}
