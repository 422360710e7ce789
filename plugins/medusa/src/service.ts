import type {
  AuthorizePaymentInput,
  AuthorizePaymentOutput,
  CancelPaymentInput,
  CancelPaymentOutput,
  CapturePaymentInput,
  CapturePaymentOutput,
  DeletePaymentInput,
  DeletePaymentOutput,
  GetPaymentStatusInput,
  GetPaymentStatusOutput,
  InitiatePaymentInput,
  InitiatePaymentOutput,
  ProviderWebhookPayload,
  RefundPaymentInput,
  RefundPaymentOutput,
  RetrievePaymentInput,
  RetrievePaymentOutput,
  UpdatePaymentInput,
  UpdatePaymentOutput,
  WebhookActionResult,
} from '@medusajs/framework/types'
import { AbstractPaymentProvider, BigNumber } from '@medusajs/framework/utils'
import { checkOptions, type Options, type Payments, type PaymentTotal, usePayments } from './payments.ts'

/** The payment provider `pp_guiche_<id>`. What it does is in payments.ts, which knows no Medusa. */
export class GuichePaymentProvider extends AbstractPaymentProvider<Options> {
  static override identifier = 'guiche'
  readonly #payments: Payments

  constructor(container: Record<string, unknown>, options: Options) {
    super(container, options)
    this.#payments = usePayments(options)
  }

  static override validateOptions(options: Record<string, unknown>): void {
    checkOptions(options)
  }

  async initiatePayment({ data = {}, ...input }: InitiatePaymentInput): Promise<InitiatePaymentOutput> {
    return await this.#payments.initiate(data, toTotal(input))
  }

  async updatePayment({ data = {}, ...input }: UpdatePaymentInput): Promise<UpdatePaymentOutput> {
    return await this.#payments.update(data, toTotal(input))
  }

  async deletePayment({ data = {} }: DeletePaymentInput): Promise<DeletePaymentOutput> {
    return await this.#payments.cancel(data)
  }

  async authorizePayment({ data = {} }: AuthorizePaymentInput): Promise<AuthorizePaymentOutput> {
    return await this.#payments.getStatus(data)
  }

  async capturePayment({ data = {} }: CapturePaymentInput): Promise<CapturePaymentOutput> {
    return await this.#payments.capture(data)
  }

  async refundPayment({ data = {}, amount }: RefundPaymentInput): Promise<RefundPaymentOutput> {
    return await this.#payments.refund(data, new BigNumber(amount).numeric)
  }

  async cancelPayment({ data = {} }: CancelPaymentInput): Promise<CancelPaymentOutput> {
    return await this.#payments.cancel(data)
  }

  async retrievePayment({ data = {} }: RetrievePaymentInput): Promise<RetrievePaymentOutput> {
    return await this.#payments.retrieve(data)
  }

  async getPaymentStatus({ data = {} }: GetPaymentStatusInput): Promise<GetPaymentStatusOutput> {
    return await this.#payments.getStatus(data)
  }

  async getWebhookActionAndData({ headers, rawData }: ProviderWebhookPayload['payload']): Promise<WebhookActionResult> {
    return await this.#payments.readWebhook(headers, rawData)
  }
}

function toTotal({
  amount,
  currency_code: currency,
}: Pick<InitiatePaymentInput, 'amount' | 'currency_code'>): PaymentTotal {
  return { amount: new BigNumber(amount).numeric, currency }
}
