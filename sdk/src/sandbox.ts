import { type Client, toSegment } from './client.ts'
import type { RequestOptions } from './http.ts'
import type {
  SandboxAdvanced,
  SandboxDisputed,
  SandboxInfraction,
  SandboxPaid,
  SandboxPayment,
  SandboxPersonality,
  SandboxPersonalityInput,
  SandboxReturn,
  SandboxWithdrawalReturn,
} from './types.ts'

/**
 * The simulated PIX network. No real money moves. It exists only while the acquirer is the simulator: elsewhere each
 * method throws `not_found`. The SDK does not repeat a change after a lost answer: a payment made twice is two
 * payments.
 */
export class Sandbox {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /**
   * Pays a QR code as a payer's bank does. Pass `amount` (cents) to pay a different amount than the code asks for.
   *
   * @throws {GuicheError} `payment_refused`, for example because the code has expired, has already been paid or is not
   * a Pix code
   */
  pay(payment: SandboxPayment, options?: RequestOptions): Promise<SandboxPaid> {
    return this.#client.post('/sandbox/payment', options, { body: payment })
  }

  /**
   * Opens a dispute (MED) as the payer of the payment with this `endToEnd`. The result has the `reference` to pass to
   * `decide`.
   */
  openDispute(infraction: SandboxInfraction, options?: RequestOptions): Promise<SandboxDisputed> {
    return this.#client.post('/sandbox/infraction', options, { body: infraction })
  }

  /** Decides a dispute. If it is accepted, the money goes back to the payer; if rejected or canceled, it stays. */
  decide(
    reference: string,
    decision: 'accept' | 'reject' | 'cancel',
    options?: RequestOptions,
  ): Promise<SandboxDisputed> {
    return this.#client.post(`/sandbox/infraction/${toSegment(reference)}/${toSegment(decision)}`, options)
  }

  /**
   * The simulated bank, which received the payment, returns it or `amount` cents of it under MED, without a dispute
   * before.
   */
  returnPayment(input: SandboxReturn, options?: RequestOptions): Promise<SandboxPaid> {
    return this.#client.post('/sandbox/return', options, { body: input })
  }

  /** The receiver of a withdrawal sends it back, or `amount` cents of it. */
  returnWithdrawal(id: string, input: SandboxWithdrawalReturn = {}, options?: RequestOptions): Promise<SandboxPaid> {
    return this.#client.post(`/sandbox/withdrawal/${toSegment(id)}/return`, options, { body: input })
  }

  /** The fault profile ("personality") of the simulated bank: which faults it injects, and how often. */
  personality(options?: RequestOptions): Promise<SandboxPersonality> {
    return this.#client.get('/sandbox/personality', options)
  }

  /**
   * Changes the fault profile of the simulated bank, for every client of the service. `{ name: 'honest' }` restores the
   * initial one.
   */
  setPersonality(input: SandboxPersonalityInput, options?: RequestOptions): Promise<SandboxPersonality> {
    return this.#client.post('/sandbox/personality', options, { body: input })
  }

  /**
   * Lets time pass for your own records, at most 90 days per call: codes expire, webhooks are retried, delayed payments
   * and refunds arrive, deadlines of disputes come closer. Nothing that has already happened changes.
   *
   * @example
   * ```ts
   * const { due } = await guiche.sandbox.advanceClock(3 * 86_400)
   * console.log(due.charges, due.webhooks)
   * ```
   */
  advanceClock(seconds: number, options?: RequestOptions): Promise<SandboxAdvanced> {
    return this.#client.post('/sandbox/clock', options, { body: { advanceSeconds: seconds } })
  }
}
