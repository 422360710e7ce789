import { type Client, toSegment } from './client.ts'
import type { RequestOptions } from './http.ts'
import type {
  SandboxContested,
  SandboxInfraction,
  SandboxPaid,
  SandboxPayment,
  SandboxPersonality,
  SandboxPersonalityInput,
  SandboxReturn,
  SandboxWithdrawalReturn,
} from './types.ts'

/**
 * The simulated PIX network. No real money moves, and it exists only while the acquirer is the simulator: elsewhere each method throws
 * `not_found`. Nothing here is tried again by itself: a payment made twice is two payments.
 */
export class Sandbox {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /**
   * Pays a QR code as a payer's bank does; `amount` pays another amount than it asks for.
   *
   * @throws {GuicheError} `payment_refused`: expired, paid already, or no code at all
   */
  pay(payment: SandboxPayment, options?: RequestOptions): Promise<SandboxPaid> {
    return this.#client.post('/sandbox/payment', options, { body: payment })
  }

  /** Has the payer contest a payment (MED), by its `endToEnd`; the answer has the `reference` to decide on. */
  contest(infraction: SandboxInfraction, options?: RequestOptions): Promise<SandboxContested> {
    return this.#client.post('/sandbox/infraction', options, { body: infraction })
  }

  /** Decides a contest: accepted, the money goes back to the payer; rejected or canceled, it stays. */
  decide(
    reference: string,
    decision: 'accept' | 'reject' | 'cancel',
    options?: RequestOptions,
  ): Promise<SandboxContested> {
    return this.#client.post(`/sandbox/infraction/${toSegment(reference)}/${decision}`, options)
  }

  /** Has the payer's bank return a payment under MED without a word before. */
  returnPayment(input: SandboxReturn, options?: RequestOptions): Promise<SandboxPaid> {
    return this.#client.post('/sandbox/return', options, { body: input })
  }

  /** Has the receiver of a withdrawal send it back, or `amount` cents of it. */
  returnWithdrawal(id: string, input: SandboxWithdrawalReturn = {}, options?: RequestOptions): Promise<SandboxPaid> {
    return this.#client.post(`/sandbox/withdrawal/${toSegment(id)}/return`, options, { body: input })
  }

  /** The character of the simulated bank. */
  personality(options?: RequestOptions): Promise<SandboxPersonality> {
    return this.#client.get('/sandbox/personality', options)
  }

  /** Gives the simulated bank another character from now on, for every client of the service; `{ name: 'honest' }` is the first one. */
  setPersonality(input: SandboxPersonalityInput, options?: RequestOptions): Promise<SandboxPersonality> {
    return this.#client.post('/sandbox/personality', options, { body: input })
  }
}
