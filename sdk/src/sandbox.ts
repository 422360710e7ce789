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
 * method throws `not_found`. The SDK retries none of these calls: a payment made twice is two payments.
 */
export class Sandbox {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /**
   * Pays a QR code as a payer's bank does. `amount`, in cents, pays another amount than the code asks for.
   *
   * @throws {GuicheError} `payment_refused`: the code has expired, is paid already, or is not a code
   */
  pay(payment: SandboxPayment, options?: RequestOptions): Promise<SandboxPaid> {
    return this.#client.post('/sandbox/payment', options, { body: payment })
  }

  /**
   * Opens a dispute (MED) by the payer of a payment, named by its `endToEnd`. The answer has the `reference` for
   * `decide`.
   */
  openDispute(infraction: SandboxInfraction, options?: RequestOptions): Promise<SandboxDisputed> {
    return this.#client.post('/sandbox/infraction', options, { body: infraction })
  }

  /** Decides a dispute. Accepted, the money goes back to the payer; rejected or canceled, it stays. */
  decide(
    reference: string,
    decision: 'accept' | 'reject' | 'cancel',
    options?: RequestOptions,
  ): Promise<SandboxDisputed> {
    return this.#client.post(`/sandbox/infraction/${toSegment(reference)}/${toSegment(decision)}`, options)
  }

  /** The payer's bank returns a payment under MED without announcing it. */
  returnPayment(input: SandboxReturn, options?: RequestOptions): Promise<SandboxPaid> {
    return this.#client.post('/sandbox/return', options, { body: input })
  }

  /** The receiver of a withdrawal sends it back, or `amount` cents of it. */
  returnWithdrawal(id: string, input: SandboxWithdrawalReturn = {}, options?: RequestOptions): Promise<SandboxPaid> {
    return this.#client.post(`/sandbox/withdrawal/${toSegment(id)}/return`, options, { body: input })
  }

  /** The fault profile of the simulated bank. */
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
   * Lets time pass for your own records, up to 90 days: codes expire, webhooks are tried again, delayed payments and
   * refunds arrive, deadlines of disputes come closer. Nothing that has already happened changes.
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
