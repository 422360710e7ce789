import { inReais } from '../../lib/money.ts'
import { print, write } from '../print.ts'
import { type ConnectOptions, connect, requireSandbox } from './connect.ts'
import { createSteps } from './say.ts'

type Options = ConnectOptions & { amount: number; webhookUrl?: string; json?: boolean }

/** `guiche try`: from a charge to its payment, with the time of each step. */
export async function runTry({ amount, webhookUrl, json, ...options }: Options): Promise<void> {
  const { guiche, connection } = await connect(options)
  const steps = createSteps({ json })
  await requireSandbox(guiche)
  steps.add('signed in', `as ${connection.clientId} at ${connection.baseUrl}`)
  const { id, pixResponse } = await guiche.transactions.create({
    amount,
    externalCode: `try-${Date.now()}`,
    ...(webhookUrl !== undefined && { webhookUrl }),
  })
  steps.add('created', `transaction ${id}, ${inReais(amount)}`)
  steps.add('code', pixResponse.uri)
  const { url } = await guiche.transactions.paymentLink(id)
  steps.add('page', url)
  const { endToEndId } = await guiche.sandbox.pay({ uri: pixResponse.uri })
  steps.add('paid', `at the simulated bank, ${endToEndId}`)
  const { status, amountPaid = 0 } = await guiche.transactions.waitFor(id, 'PAID')
  steps.add(status, inReais(amountPaid))
  for (const { type, id: eventId, delivery } of (await guiche.transactions.events(id).all()).reverse())
    steps.add('event', `${eventId}  ${type}${delivery === null ? '' : `, delivery ${delivery}`}`)
  if (json) print({ id, status, amountPaid, steps: steps.steps }, { json })
  else write(`\nIn the dashboard: ${connection.baseUrl}/dashboard/transactions/${id}\n`)
}
