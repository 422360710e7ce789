import { Type } from 'typebox'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { AppError, type FieldErrorCode } from '../lib/errors.ts'

/** `id`: the reference of the dispute, or the end-to-end id of the return. */
export type ControlOutcome = { ok: true; id: string } | { ok: false; code: FieldErrorCode; message: string }

/** Further controls of the simulated network: actions of payers, their banks, and receivers of payouts. */
export type SandboxControls = {
  openDispute(input: {
    endToEndId: string
    amount?: number
    reason?: 'fraud' | 'operational_failure'
  }): Promise<ControlOutcome>
  decideDispute(input: { reference: string; decision: 'accept' | 'reject' | 'cancel' }): Promise<ControlOutcome>
  /** A return under MED without a dispute before it: the only signal in the standard API. */
  returnUnannounced(input: { endToEndId: string; amount?: number }): Promise<ControlOutcome>
  returnPayout(input: { payoutId: string; amount?: number }): Promise<ControlOutcome>
}

const toAmount = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: 999_999_999_999, description }))
const amount = toAmount('Cents; the whole remaining amount by default')
const endToEnd = Type.String({ minLength: 1, maxLength: 64, description: 'The endToEnd of a paid transaction' })

const paid = 'E60701190202603021500a1B2c3D4e5F'

const DisputeBody = Type.Object(
  {
    endToEnd,
    amount: toAmount('Cents; the whole payment by default'),
    reason: Type.Optional(Type.Enum(['fraud', 'operational_failure'], { description: 'fraud by default' })),
  },
  {
    title: 'SandboxInfraction',
    description: 'A dispute (MED) at the simulated bank',
    examples: [{ endToEnd: paid }],
  },
)
const ReturnBody = Type.Object(
  { endToEnd, amount },
  { title: 'SandboxReturn', description: 'An unannounced return under MED', examples: [{ endToEnd: paid }] },
)
const PayoutReturnBody = Type.Object(
  { amount },
  {
    title: 'SandboxWithdrawalReturn',
    description: 'A withdrawal that is sent back',
    examples: [{ amount: 500 }],
  },
)

const DecisionParams = Type.Object({
  reference: Type.String({
    maxLength: 64,
    description: 'The reference from the response when the dispute was opened, or the endToEnd of the payment',
  }),
  decision: Type.Enum(['accept', 'reject', 'cancel'], { description: 'What the banks decide' }),
})
const PayoutParams = Type.Object({ payoutId: Type.String({ maxLength: 64, description: 'The id of a withdrawal' }) })

const DisputedView = Type.Object(
  { reference: Type.String({ description: 'Names the dispute in a decision' }) },
  { title: 'SandboxDisputed', description: 'The dispute', examples: [{ reference: 'MED-2026-000001' }] },
)
export const PaidView = Type.Object(
  { endToEndId: Type.String({ description: 'Identifier of the Pix' }) },
  { title: 'SandboxPaid', description: 'The payment or return that was made', examples: [{ endToEndId: paid }] },
)

const DisputeAnswer = { 200: DisputedView, ...problems(401, 403, 404, 422, 500) }
const ReturnAnswer = { 200: PaidView, ...problems(401, 403, 404, 422, 500) }

const shared = { tags: ['Sandbox'], querystring: NoQuery }
const onlySimulated = 'No real money moves. It exists only while the acquirer is the simulator.'

const transactionAccess = { access: { scope: 'transaction.write', orPermission: 'sandbox.use' } } as const

export function registerControlRoutes(app: Server, sandbox: SandboxControls): void {
  app.post(
    '/sandbox/infraction',
    {
      config: transactionAccess,
      schema: {
        ...shared,
        operationId: 'openSandboxDispute',
        summary: 'Dispute a payment at the simulated bank',
        description: `Acts as the bank of a payer who disputes a payment under MED, within 80 days. ${onlySimulated}`,
        body: DisputeBody,
        response: DisputeAnswer,
      },
    },
    async ({ body: { endToEnd: endToEndId, ...others } }) => ({
      reference: idOf(await sandbox.openDispute({ endToEndId, ...others }), 'endToEnd'),
    }),
  )

  app.post(
    '/sandbox/infraction/:reference/:decision',
    {
      config: transactionAccess,
      schema: {
        ...shared,
        operationId: 'decideSandboxDispute',
        summary: 'Decide a dispute at the simulated network',
        description: `If accepted, the money is returned to the payer a second later; if rejected or canceled, it stays. ${onlySimulated}`,
        params: DecisionParams,
        response: DisputeAnswer,
      },
    },
    async ({ params }) => ({ reference: idOf(await sandbox.decideDispute(params), 'reference') }),
  )

  app.post(
    '/sandbox/return',
    {
      config: transactionAccess,
      schema: {
        ...shared,
        operationId: 'returnSandboxPayment',
        summary: 'Return a payment under MED without a dispute',
        description: `A bank that has only the standard API reports nothing else about MED: the money is returned. ${onlySimulated}`,
        body: ReturnBody,
        response: ReturnAnswer,
      },
    },
    async ({ body: { endToEnd: endToEndId, ...others } }) => ({
      endToEndId: idOf(await sandbox.returnUnannounced({ endToEndId, ...others }), 'endToEnd'),
    }),
  )

  app.post(
    '/sandbox/withdrawal/:payoutId/return',
    {
      config: { access: { scope: 'withdrawal.write', orPermission: 'sandbox.use' } },
      schema: {
        ...shared,
        operationId: 'returnSandboxWithdrawal',
        summary: 'Send a withdrawal back',
        description: `Acts as the receiver of a withdrawal, who sends all or part of it back. ${onlySimulated}`,
        params: PayoutParams,
        body: PayoutReturnBody,
        response: ReturnAnswer,
      },
    },
    async ({ params, body }) => {
      // A payout's id has no hyphens, unlike a withdrawal's.
      const payoutId = params.payoutId.replaceAll('-', '')
      return { endToEndId: idOf(await sandbox.returnPayout({ ...body, payoutId }), 'payoutId') }
    },
  )
}

const notFoundCodes = new Set(['payment_unknown', 'infraction_unknown', 'payout_unknown'])

function idOf(outcome: ControlOutcome, field: string): string {
  if (outcome.ok) return outcome.id
  const { code, message } = outcome
  const fields = [{ field: code === 'amount_invalid' ? 'amount' : field, code, message }]
  throw new AppError(notFoundCodes.has(code) ? 'not_found' : 'validation_failed', { detail: message, fields })
}
