import type { Caller } from '../http/caller.ts'
import { AppError } from '../lib/errors.ts'

const recordTypes = ['transaction', 'withdrawal'] as const

/**
 * Payloads need the scopes of their records, wherever they go: in the feed, or to an endpoint.
 *
 * @param types types of events, or a record's type; null: all
 * @throws {AppError} `insufficient_scope`
 */
export function assertMayRead({ may, clientId }: Caller, types: readonly string[] | null): void {
  const needed = recordTypes.filter((recordType) => types === null || types.some((type) => type.startsWith(recordType)))
  const scope = needed.map((recordType) => `${recordType}.read`).find((one) => !may(one))
  if (scope === undefined) return
  throw new AppError('insufficient_scope', {
    detail: `The payloads of these events need the scope ${scope} as well. Request a token with it, or select other types of events.`,
    about: { clientId },
  })
}
