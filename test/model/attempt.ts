import { AppError } from '../../src/lib/errors.ts'
import { Injected } from './life.ts'

/** done, refused with a code that a caller reads, or cut short by the model, so that nobody knows. */
export type Attempted<Value> = { did: 'done'; value: Value } | { did: 'refused'; code: string } | { did: 'lost' }

/** Does something and tells how it went. An error that is neither a refusal nor the model's own is a fault of the service. */
export async function attempt<Value>(work: () => Promise<Value>): Promise<Attempted<Value>> {
  try {
    return { did: 'done', value: await work() }
  } catch (error) {
    if (error instanceof AppError)
      return error.code === 'internal_error' ? { did: 'lost' } : { did: 'refused', code: error.code }
    if (isInjected(error)) return { did: 'lost' }
    throw error
  }
}

export function describe(attempted: Attempted<unknown>): string {
  return attempted.did === 'refused' ? attempted.code : attempted.did
}

/** What was expected of an answer did not come. */
export class Unexpected extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'Unexpected'
  }
}

export function isInjected(error: unknown): boolean {
  if (error instanceof Injected) return true
  return error instanceof Error && error.cause !== undefined && isInjected(error.cause)
}
