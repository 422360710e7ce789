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

/** What of its character has to do with other requests than payments. */
const otherTraits = ['answer_lost', 'payout_rejected', 'return_rejected'] as const

type Trait = SandboxBehaviour | (typeof otherTraits)[number]

const names = ['honest', 'forgetful', 'late', 'careless', 'forged', 'quarrelsome', 'hostile'] as const

/** A bank's character. `traits`: how probable each is. The same seed does the same to the same payments. */
export type SandboxPersonality = {
  name: (typeof names)[number]
  seed: number
  traits: Partial<Record<Trait, number>>
}

export type SandboxPersonalities = {
  /** Another character from now on, where one is given; tells which it is. */
  personality(input?: Partial<SandboxPersonality>): Promise<SandboxPersonality>
}

const probability = Type.Optional(Type.Number({ minimum: 0, maximum: 1 }))
const Traits = Type.Object(Object.fromEntries([...behaviours, ...otherTraits].map((trait) => [trait, probability])), {
  additionalProperties: false,
  description: 'How probable each is, from 0 to 1',
})

const Name = Type.Enum([...names])
const Seed = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'The same seed does the same to the same payments',
})

const PersonalityBody = Type.Object(
  {
    name: Name,
    seed: Type.Optional(Seed),
    traits: Type.Optional(Traits),
  },
  { additionalProperties: false, examples: [{ name: 'hostile', seed: 7, traits: { twice: 0.5 } }] },
)
const PersonalityAnswer = {
  200: Type.Object({ name: Name, seed: Seed, traits: Traits }),
  ...problems(401, 403, 422, 500),
}

const shared = { tags: ['Sandbox'], querystring: NoQuery, response: PersonalityAnswer }
const access = { scope: 'transaction.write', orPermission: 'sandbox.use' } as const

/** The character of the whole simulated bank, for all clients of this service. */
export function registerPersonalityRoutes(app: Server, sandbox: SandboxPersonalities): void {
  app.get(
    '/sandbox/personality',
    { config: { access }, schema: { ...shared, summary: 'Tell the character of the simulated bank' } },
    async () => await sandbox.personality(),
  )

  app.post(
    '/sandbox/personality',
    {
      config: { access },
      schema: {
        ...shared,
        summary: 'Change the character of the simulated bank',
        description:
          'From now on, and for every client of this service. `traits` are added to those of the name, or take their place. It exists only while the acquirer is the simulator.',
        body: PersonalityBody,
      },
    },
    async ({ body }) => await sandbox.personality(body),
  )
}
