import Type from 'typebox'
import { Compile } from 'typebox/compile'
import { cents } from '../src/lib/money.ts'
import { type HttpRequest, type HttpResponse, json, parseJson, problem } from './http.ts'
import type { PayInput, PayOutcome } from './pay.ts'

const text = Type.Optional(Type.String({ maxLength: 255 }))

const PaymentRequest = Type.Object({
  uri: Type.String({ maxLength: 4096 }),
  amount: Type.Optional(Type.Integer({ minimum: 1, maximum: 999_999_999_999 })),
  payer: Type.Optional(
    Type.Object({
      name: text,
      document: text,
      bankAccount: Type.Optional(Type.Object({ type: text, branch: text, number: text, digit: text, ispb: text })),
      pix: Type.Optional(
        Type.Object({
          key: Type.String({ maxLength: 77 }),
          type: Type.Enum(['CPF', 'CNPJ', 'EMAIL', 'PHONE', 'EVP']),
        }),
      ),
    }),
  ),
})
const paymentRequest = Compile(PaymentRequest)

/** `POST /sandbox/payment`: pays a code, for a gateway that reaches the simulator over the network. */
export async function postPayment(
  pay: (input: PayInput) => Promise<PayOutcome>,
  request: HttpRequest,
): Promise<HttpResponse> {
  const body = parseJson(request.body)
  if (!paymentRequest.Check(body)) return problem('RequisicaoInvalida', 'O corpo não é um pagamento.')
  const { uri, amount, payer } = body
  const outcome = await pay({ uri, ...(amount !== undefined && { amount: cents(amount) }), ...(payer && { payer }) })
  if (outcome.ok) return json(200, { endToEndId: outcome.endToEndId })
  return problem('PagamentoRecusado', outcome.message, [{ razao: outcome.message, propriedade: outcome.code }])
}
