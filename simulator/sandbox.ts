import Type from 'typebox'
import { Compile } from 'typebox/compile'
import { cents } from '../src/lib/money.ts'
import type { ControlOutcome } from './control.ts'
import type { DisputeDecision, DisputeInput } from './disputes.ts'
import type { FaultProfileFields } from './faults/profile.ts'
import type { FaultProfileInput } from './faults/profile-store.ts'
import { behaviours, presetNames, traitNames } from './faults/traits.ts'
import { type HttpRequest, type HttpResponse, json, parseJson, problem } from './http.ts'
import type { PayInput, PayOutcome } from './pay.ts'
import { type AdvanceInput, type DueCounts, idsMax, secondsMax } from './time.ts'
import type { Waiting } from './time-store.ts'

/** Controls for a gateway that reaches the simulator over the network. */
export type Controls = {
  pay(input: PayInput): Promise<PayOutcome>
  openDispute(input: DisputeInput): Promise<ControlOutcome>
  decideDispute(input: DisputeDecision): Promise<ControlOutcome>
  returnUnannounced(input: { endToEndId: string; amount?: PayInput['amount'] }): Promise<ControlOutcome>
  returnPayout(input: { payoutId: string; amount?: PayInput['amount'] }): Promise<ControlOutcome>
  /** Returns the network's fault profile, after changing it if an input is given. */
  personality(input?: FaultProfileInput): Promise<FaultProfileFields>
  /** What waits for a later time, except unpaid charges. */
  waiting(): Promise<Waiting>
  /** Lets what these charges and payouts wait for happen earlier, as if time had passed for them alone. */
  advance(input: AdvanceInput): Promise<DueCounts>
}

const text = Type.Optional(Type.String({ maxLength: 255 }))
const amount = Type.Optional(Type.Integer({ minimum: 1, maximum: 999_999_999_999 }))
const id = Type.String({ maxLength: 64 })

const PaymentRequest = Type.Object({
  uri: Type.String({ maxLength: 4096 }),
  amount,
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
  behaviour: Type.Optional(Type.Enum(['honest', ...behaviours])),
})
const DisputeRequest = Type.Object({
  endToEndId: id,
  amount,
  reason: Type.Optional(Type.Enum(['fraud', 'operational_failure'])),
})
const DecisionRequest = Type.Object({ reference: id, decision: Type.Enum(['accept', 'reject', 'cancel']) })
const ReturnRequest = Type.Object({ endToEndId: id, amount })
const PayoutReturnRequest = Type.Object({ payoutId: id, amount })

const probability = Type.Optional(Type.Number({ minimum: 0, maximum: 1 }))
const PersonalityRequest = Type.Partial(
  Type.Object(
    {
      name: Type.Enum(presetNames),
      seed: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
      traits: Type.Object(Object.fromEntries(traitNames.map((trait) => [trait, probability])), {
        additionalProperties: false,
      }),
    },
    { additionalProperties: false },
  ),
)

const ids = Type.Array(id, { maxItems: idsMax })
const AdvanceRequest = Type.Object({
  txids: ids,
  payoutIds: ids,
  seconds: Type.Integer({ minimum: 1, maximum: secondsMax }),
})

const advanceRequest = Compile(AdvanceRequest)
const paymentRequest = Compile(PaymentRequest)
const disputeRequest = Compile(DisputeRequest)
const decisionRequest = Compile(DecisionRequest)
const returnRequest = Compile(ReturnRequest)
const payoutReturnRequest = Compile(PayoutReturnRequest)
const personalityRequest = Compile(PersonalityRequest)

/**
 * `POST /sandbox/{control}`: each takes the input of one of the {@link Controls} as JSON. Null for an unknown control.
 */
export async function postControl(
  controls: Controls,
  control: string,
  request: HttpRequest,
): Promise<HttpResponse | null> {
  const body = parseJson(request.body)
  if (control === 'payment') return paymentRequest.Check(body) ? postPayment(controls, body) : invalid()
  if (control === 'infraction') {
    return disputeRequest.Check(body) ? toResponse(controls.openDispute(inCents(body))) : invalid()
  }
  if (control === 'decision') {
    return decisionRequest.Check(body) ? toResponse(controls.decideDispute(body)) : invalid()
  }
  if (control === 'return') {
    return returnRequest.Check(body) ? toResponse(controls.returnUnannounced(inCents(body))) : invalid()
  }
  if (control === 'payout-return') {
    return payoutReturnRequest.Check(body) ? toResponse(controls.returnPayout(inCents(body))) : invalid()
  }
  if (control === 'waiting') return json(200, await controls.waiting())
  if (control === 'clock') return advanceRequest.Check(body) ? json(200, await controls.advance(body)) : invalid()
  if (control === 'personality') return personalityRequest.Check(body) ? postPersonality(controls, body) : invalid()
  return null
}

async function postPayment(
  { pay }: Controls,
  { amount, ...others }: Type.Static<typeof PaymentRequest>,
): Promise<HttpResponse> {
  const outcome = await pay({ ...others, ...(amount !== undefined && { amount: cents(amount) }) })
  if (outcome.ok) return json(200, { endToEndId: outcome.endToEndId })
  return problem('PagamentoRecusado', outcome.message, [{ razao: outcome.message, propriedade: outcome.code }])
}

/** An empty input changes nothing. */
async function postPersonality({ personality }: Controls, input: FaultProfileInput): Promise<HttpResponse> {
  return json(200, await personality(Object.keys(input).length > 0 ? input : undefined))
}

async function toResponse(pending: Promise<ControlOutcome>): Promise<HttpResponse> {
  const outcome = await pending
  if (outcome.ok) return json(200, { id: outcome.id })
  return problem('ComandoRecusado', outcome.message, [{ razao: outcome.message, propriedade: outcome.code }])
}

function inCents<Body extends { amount?: number }>({ amount, ...others }: Body) {
  return { ...others, ...(amount !== undefined && { amount: cents(amount) }) }
}

function invalid(): HttpResponse {
  return problem('RequisicaoInvalida', 'O corpo não é o que este comando espera.')
}
