import { AppError } from '../../src/lib/errors.ts'
import { Injected } from './fault-injector.ts'

/**
 * `refused`: with an error code for the caller. `lost`: the model interrupted it, so the caller does not know its
 * outcome.
 */
export type Attempted<Value> = { did: 'done'; value: Value } | { did: 'refused'; code: string } | { did: 'lost' }

/**
 * Runs some work and returns its outcome. An error that is neither a refusal nor injected by the model is a bug of the
 * service.
 */
export async function attempt<Value>(work: () => Promise<Value>): Promise<Attempted<Value>> {
  try {
    return { did: 'done', value: await work() }
  } catch (error) {
    if (error instanceof AppError) return { did: 'refused', code: error.code }
    if (isInjected(error)) return { did: 'lost' }
    throw error
  }
}

export function describe(attempted: Attempted<unknown>): string {
  return attempted.did === 'refused' ? attempted.code : attempted.did
}

/** Thrown when an answer differs from the expected one. */
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
