import { Type } from 'typebox'
import type { Db } from '../db/sql.ts'
import { merchantSeenBy, type SignedIn, userOf } from '../http/caller.ts'
import { NoQuery, problems } from '../http/schemas.ts'
import type { Server } from '../http/server.ts'
import type { Clock } from '../lib/clock.ts'
import { findStepsDone, isDismissed, setDismissed } from './first-steps-store.ts'
import { type FirstStep, type FirstSteps, FirstStepsView } from './schema.ts'

type Deps = { db: Db; clock: Clock; sandbox: object | null }

/** What a new user does first, with what is done already. Everybody may see it, and dismiss it for themselves. */
export function registerFirstStepsRoutes(app: Server, deps: Deps): void {
  app.get(
    '/dashboard/api/first-steps',
    {
      config: { access: { permission: null } },
      schema: { hide: true, querystring: NoQuery, response: { 200: FirstStepsView, ...problems(401) } },
    },
    async (request) => await readFirstSteps(deps, userOf(request)),
  )

  app.put(
    '/dashboard/api/first-steps',
    {
      config: { access: { permission: null } },
      schema: {
        hide: true,
        querystring: NoQuery,
        body: Type.Object({ isDismissed: Type.Boolean() }),
        response: { 200: FirstStepsView, ...problems(401, 403, 422) },
      },
    },
    async (request) => {
      const user = userOf(request)
      await setDismissed(deps.db, user.id, request.body.isDismissed ? deps.clock.now() : null)
      return await readFirstSteps(deps, user)
    },
  )
}

async function readFirstSteps({ db, sandbox }: Deps, user: SignedIn): Promise<FirstSteps> {
  // Not from a standby: the person has just done the step, or dismissed the list.
  if (await isDismissed(db, user.id)) return { isDismissed: true, steps: [] }
  const merchantId = merchantSeenBy(user)
  const done = await findStepsDone(db, { merchantId })
  const step = (name: FirstStep, isDone: boolean) => ({ name, isDone })
  const shared = [
    step('charge', done.charge),
    step('payment', done.payment),
    step('receiver', done.receiver),
    step('delivery', done.delivery),
  ]
  const person = [
    step('colleague', done.colleague),
    // People who sign in at the identity provider set up their second factor there.
    ...(user.hasPassword ? [step('secondFactor', user.hasSecondFactor)] : []),
  ]
  const steps =
    merchantId === null
      ? [step('merchant', done.merchant), ...shared, ...person, step('psp', sandbox === null)]
      : [...shared, step('withdrawal', done.withdrawal), ...person]
  return { isDismissed: false, steps }
}
