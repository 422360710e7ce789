import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { AccountHolderView, NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import { AppError } from '../lib/errors.ts'
import { type ClockDeps, registerClockRoutes, type SandboxTime } from './clock.ts'
import { type ControlOutcome, PaidView, registerControlRoutes, type SandboxControls } from './controls.ts'
import {
  behaviours,
  registerPersonalityRoutes,
  type SandboxBehaviour,
  type SandboxPersonalities,
} from './personality.ts'

/** A payment at the payer's bank. Details of the payer that are left out are filled in. */
export type SandboxPayment = {
  uri: string
  amount?: number
  payer?: object
  /** The fault to inject, or `honest` for none. By default the amount or the bank's fault profile decides. */
  behaviour?: SandboxBehaviour | 'honest'
}
export type SandboxOutcome = { ok: true; endToEndId: string } | Extract<ControlOutcome, { ok: false }>

/** The simulated Pix network, as the gateway exposes it. It exists only while the acquirer is the simulator. */
export type Sandbox = SandboxControls &
  SandboxPersonalities &
  SandboxTime & {
    pay(payment: SandboxPayment): Promise<SandboxOutcome>
    /** Answers a GET at the QR codes' locations; null when the simulator runs elsewhere and answers there itself. */
    serve: ((path: string) => Promise<{ status: number; headers: Record<string, string>; body: string }>) | null
  }

const { bankAccount, ...holder } = AccountHolderView.properties
const PayerInput = Type.Partial(
  Type.Object({ ...holder, bankAccount: Type.Partial(Type.Object(bankAccount.properties)) }),
  { title: 'SandboxPayer', description: 'The payer at the simulated bank. Omitted fields get defaults' },
)

const PaymentBody = Type.Object(
  {
    uri: Type.String({ minLength: 1, maxLength: 4096, description: 'The copy-and-paste code' }),
    amount: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 999_999_999_999,
        description: 'Cents, to pay another amount than the code has',
      }),
    ),
    payer: Type.Optional(PayerInput),
    behaviour: Type.Optional(
      Type.Enum(['honest', ...behaviours], {
        description: 'The fault to inject; honest: none, whatever the fault profile of the bank',
      }),
    ),
  },
  {
    title: 'SandboxPayment',
    description: 'A payment at the simulated bank',
    examples: [{ uri: '00020101021226…6304A1B2' }],
  },
)

export function registerSandboxRoutes(app: Server, { sandbox, ...deps }: ClockDeps & { sandbox: Sandbox }): void {
  app.post(
    '/sandbox/payment',
    {
      config: { access: { scope: 'transaction.write', orPermission: 'sandbox.use' } },
      schema: {
        operationId: 'payInSandbox',
        summary: 'Pay a QR code at the simulated bank',
        description:
          'Acts as the bank of a payer: reads the code, checks the charge at its location and pays it. No real money moves. It exists only while the acquirer is the simulator.',
        tags: ['Sandbox'],
        querystring: NoQuery,
        body: PaymentBody,
        response: { 200: PaidView, ...problems(401, 403, 422, 500, 'payment_refused') },
      },
    },
    async (request) => {
      const outcome = await sandbox.pay(request.body)
      if (outcome.ok) return { endToEndId: outcome.endToEndId }
      throw new AppError('payment_refused', {
        detail: outcome.message,
        fields: [{ field: 'uri', code: outcome.code, message: outcome.message }],
      })
    },
  )

  registerControlRoutes(app, sandbox)
  registerPersonalityRoutes(app, sandbox)
  registerClockRoutes(app, { ...deps, sandbox })

  const { serve } = sandbox
  if (!serve) return
  for (const url of ['/qr/jwks.json', '/qr/v2/:id']) {
    app.get(url, { config: { access: { public: true } }, schema: { hide: true } }, async (request, reply) =>
      relay(reply, await serve(request.url)),
    )
  }
}

function relay(
  reply: FastifyReply,
  answer: { status: number; headers: Record<string, string>; body: string },
): FastifyReply {
  return reply.code(answer.status).headers(answer.headers).send(answer.body)
}
