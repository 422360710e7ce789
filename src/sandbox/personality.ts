import { Type } from 'typebox'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'

/** What can go wrong with a payment at the simulated bank. */
export const behaviours = [
  'without_txid',
  'slow',
  'late',
  'twice',
  'other_amount',
  'other_payer',
  'returned',
  'contested',
  'callback_never',
  'callback_twice',
  'callback_late',
  'callback_forged',
] as const

export type SandboxBehaviour = (typeof behaviours)[number]

/** The probabilities that apply to other requests than payments. */
const otherTraits = ['answer_lost', 'payout_rejected', 'return_rejected'] as const

type Trait = SandboxBehaviour | (typeof otherTraits)[number]

const names = ['honest', 'forgetful', 'late', 'careless', 'forged', 'quarrelsome', 'hostile'] as const

/**
 * A fault profile of the bank. `traits`: the probability of each fault. The same seed has the same effect on the same
 * payments.
 */
export type SandboxPersonality = {
  name: (typeof names)[number]
  seed: number
  traits: Partial<Record<Trait, number>>
}

export type SandboxPersonalities = {
  /** Returns the fault profile, after replacing it if one is passed. */
  personality(input?: Partial<SandboxPersonality>): Promise<SandboxPersonality>
}

const probability = Type.Optional(Type.Number({ minimum: 0, maximum: 1 }))
const Traits = Type.Object(Object.fromEntries([...behaviours, ...otherTraits].map((trait) => [trait, probability])), {
  additionalProperties: false,
  title: 'SandboxTraits',
  description: 'The faults of the simulated bank, with the probability of each, from 0 to 1',
})

const Name = Type.Enum([...names], {
  title: 'SandboxPersonalityName',
  description: 'The named fault profiles of the simulated bank',
})
const Seed = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'The same seed has the same effect on the same payments',
})

const PersonalityBody = Type.Object(
  {
    name: Name,
    seed: Type.Optional(Seed),
    traits: Type.Optional(Traits),
  },
  {
    additionalProperties: false,
    title: 'SandboxPersonalityInput',
    description: 'A new fault profile for the simulated bank',
    examples: [{ name: 'hostile', seed: 7, traits: { twice: 0.5 } }],
  },
)
const PersonalityAnswer = {
  200: Type.Object(
    { name: Name, seed: Seed, traits: Traits },
    {
      title: 'SandboxPersonality',
      description: 'The fault profile of the simulated bank',
      examples: [{ name: 'hostile', seed: 7, traits: { slow: 0.1, twice: 0.5 } }],
    },
  ),
  ...problems(401, 403, 422, 500),
}

const shared = { tags: ['Sandbox'], querystring: NoQuery, response: PersonalityAnswer }
const access = { scope: 'transaction.write', orPermission: 'sandbox.use' } as const

/** The fault profile of the simulated bank, for all clients of this service. */
export function registerPersonalityRoutes(app: Server, sandbox: SandboxPersonalities): void {
  app.get(
    '/sandbox/personality',
    {
      config: { access },
      schema: {
        ...shared,
        operationId: 'getSandboxPersonality',
        summary: 'Get the fault profile of the simulated bank',
        description: 'What goes wrong there, and how often. It exists only while the acquirer is the simulator.',
      },
    },
    async () => await sandbox.personality(),
  )

  app.post(
    '/sandbox/personality',
    {
      config: { access },
      schema: {
        ...shared,
        operationId: 'setSandboxPersonality',
        summary: 'Change the fault profile of the simulated bank',
        description:
          'Applies to every client of this service from now on. `traits` are added to those of the named profile, or override them. It exists only while the acquirer is the simulator.',
        body: PersonalityBody,
      },
    },
    async ({ body }) => await sandbox.personality(body),
  )
}
