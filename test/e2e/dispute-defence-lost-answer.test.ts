import { expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import { noProofOfDelivery } from '../../src/defences/schema.ts'
import { markSubmittedByHand, requestSending } from '../../src/defences/send.ts'
import { writeDefence } from '../../src/defences/write.ts'
import { manualClock } from '../support/clock.ts'
import { openGateway, openPsp, setBehaviour } from '../support/gateway.ts'
import { eventually } from '../support/webhooks.ts'

const text = 'O cliente recebeu o produto no endereço do pedido.'

it('sends a defence again under the same id after its answer was lost', async () => {
  const clock = manualClock()
  const psp = await openPsp('alpha', clock)
  const gateway = await openGateway([psp], { clock })
  const { id } = (await gateway.create()).body
  await gateway.sendCallback(psp, await psp.pay(id))
  await gateway.until(id, 'PAID')
  const [paid] = await gateway.db.query<{ end_to_end: string; merchant_id: string }>(sql`
    select end_to_end, merchant_id from transactions where id = ${id}`)
  await psp.bank.openDispute({ endToEndId: paid?.end_to_end ?? '' })
  await gateway.runJob('transactions.disputes')
  await gateway.until(id, 'BLOCKED')
  const [found] = await gateway.db.query<{ id: string }>(sql`select id from disputes where transaction_id = ${id}`)
  const key = { merchantId: paid?.merchant_id ?? '', transactionId: id, disputeId: found?.id ?? '' }
  const deps = { db: gateway.db, clock, acquirers: gateway.acquirers }
  const by = { actor: 'user:ana@example.com' }
  await writeDefence(deps, key, { input: { text, delivery: noProofOfDelivery, revision: 0 }, by })
  setBehaviour(psp, 'lost', 'PUT /v2/gn/infracoes')
  await requestSending(deps, key, { input: { revision: 1, fileIds: [] }, by })
  const sendings = () => psp.requests.filter((request) => request.startsWith('PUT /v2/gn/infracoes'))
  await eventually(() => sendings().length > 1)
  const state = async () =>
    (await gateway.db.query<{ state: string }>(sql`select state from dispute_defences`))[0]?.state
  expect(await state()).toBe('sending')
  setBehaviour(psp, 'well')
  await eventually(async () => (await state()) === 'sent')
  expect(new Set(sendings()).size).toBe(1)
  // The PSP has it: a person can no longer mark it as submitted by hand.
  const input = { revision: 1, fileIds: [], reference: '' }
  await expect(markSubmittedByHand(deps, key, { input, by })).rejects.toMatchObject({
    code: 'defence_not_possible',
    details: { fields: [{ code: 'already_sent' }] },
  })
  await gateway.stop()
  await psp.close()
})
