import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { expect, it } from 'vitest'
import { isTransition, type TransactionStatus } from '../../src/transactions/status.ts'
import { type WithdrawalStatus, withdrawalTransitions } from '../../src/withdrawals/status.ts'
import type { WebhookEventType } from './event-types.ts'
import { createTestEvent, createWebhookReceiver, signWebhook } from './testing.ts'

const secret = `whsec_${btoa('a secret of twenty-four.')}`

const document = JSON.parse(readFileSync('docs/openapi.json', 'utf8'))
const { components } = document

it.each(['transaction', 'withdrawal'])('makes events of each status of a %s, as the API sends them', (record) => {
  const name = record === 'transaction' ? 'Transaction' : 'Withdrawal'
  const schema = components.schemas[name]
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  const validate = ajv.compile({
    ...schema,
    components,
    additionalProperties: false,
    properties: { ...schema.properties, sequence: { type: 'integer' } },
  })
  const isAllowed = (from: string, to: string) =>
    record === 'transaction'
      ? isTransition(from as TransactionStatus, to as TransactionStatus)
      : withdrawalTransitions[from as WithdrawalStatus].includes(to as WithdrawalStatus)
  for (const status of components.schemas[`${name}Status`].enum.filter((one: string) => one !== 'PENDING')) {
    const event = createTestEvent(`${record}.${status.toLowerCase()}` as WebhookEventType, { amount: 4200 })
    expect(validate(event.data), JSON.stringify(validate.errors)).toBe(true)
    expect(event.data).toMatchObject({ status, amount: 4200, sequence: event.data.statusHistory.length - 1 })
    expect(event.data.statusHistory.at(-1)).toMatchObject({ status, durationInMilliseconds: null })
    const statuses: string[] = event.data.statusHistory.map((one) => one.status)
    expect(statuses[0]).toBe('PENDING')
    const steps = statuses.slice(1).map((to, index) => [statuses[index] ?? to, to] as const)
    expect(steps.filter(([from, to]) => !isAllowed(from, to))).toEqual([])
  }
})

it.each([
  ['transaction.paid', 0, 0],
  ['transaction.refunded', 2590, 0],
  ['transaction.infraction', 0, 2590],
] as const)('makes a %s that is refunded or returned under MED, never both', (type, amountRefunded, amountReturned) => {
  expect(createTestEvent(type).data).toMatchObject({ amountRefunded, amountReturned })
})

it.each([
  ['transaction.blocked', { status: 'OPEN', amountBlocked: 2590, amountReturned: 0 }],
  ['transaction.processing_infraction', { status: 'ACCEPTED', amountBlocked: 2590, amountReturned: 0 }],
  ['transaction.infraction', { status: 'RETURNED', amountBlocked: 0, amountReturned: 2590 }],
] as const)('makes a %s with its dispute', (type, dispute) => {
  const { disputes = [], infractionDate, returns = [] } = createTestEvent(type).data
  expect(disputes).toEqual([expect.objectContaining({ ...dispute, amount: 2590, openedAt: infractionDate })])
  expect(returns.map(({ disputeId }) => disputeId)).toEqual(
    type === 'transaction.infraction' ? disputes.map(({ id }) => id) : [],
  )
})

it('makes a record with the fields that the test sets, and those that follow from them', () => {
  const { data } = createTestEvent('transaction.paid', { amount: 100, id: 'mine', sequence: 9 })
  expect(data).toMatchObject({ id: 'mine', amountPaid: 100, sequence: 9 })
  const refunded = createTestEvent('transaction.refunded', { amount: 100 })
  expect(refunded.data).toMatchObject({ amountRefunded: 100, refunds: [{ amount: 100, status: 'REFUNDED' }] })
  const returned = createTestEvent('transaction.infraction', { amount: 100 })
  expect(returned.data).toMatchObject({ amountReturned: 100, returns: [{ amount: 100 }] })
})

it('answers 204 to webhooks that verify and keeps them, and 401 to others', async () => {
  const receiver = await createWebhookReceiver({ secret })
  try {
    const event = createTestEvent('withdrawal.processed')
    const waiting = receiver.waitFor('withdrawal.processed', ({ data }) => data.id === event.data.id)
    const send = async (signedWith: string, sent = event) => {
      const { headers, body } = await signWebhook(signedWith, sent)
      return (await fetch(receiver.url, { method: 'POST', headers, body })).status
    }
    expect(await send(`whsec_${btoa('another one')}`)).toBe(401)
    expect(await send(secret, createTestEvent('withdrawal.processed'))).toBe(204)
    expect(await send(secret)).toBe(204)
    expect(await waiting).toEqual(event)
    expect(await receiver.waitFor('withdrawal.processed', ({ data }) => data.id === event.data.id)).toEqual(event)
    expect(receiver.events).toHaveLength(2)
    expect(receiver.refused).toMatchObject([{ name: 'WebhookVerificationError' }])
    await expect(receiver.waitFor('transaction.paid', undefined, { timeoutMs: 20 })).rejects.toThrow(
      /No matching transaction.paid arrived within 20 ms. Received: withdrawal.processed, withdrawal.processed. Refused: No signature/,
    )
  } finally {
    await receiver.close()
  }
})

it('rejects with the error of a condition that throws, and keeps receiving', async () => {
  const receiver = await createWebhookReceiver({ secret })
  try {
    const event = createTestEvent('withdrawal.processed')
    const send = async () => {
      const { headers, body } = await signWebhook(secret, event)
      return (await fetch(receiver.url, { method: 'POST', headers, body })).status
    }
    const fails = () => {
      throw new TypeError('It has no such field.')
    }
    const failing = receiver.waitFor('withdrawal.processed', fails)
    const waiting = receiver.waitFor('withdrawal.processed')
    const outcome = expect(failing).rejects.toThrow('It has no such field.')
    expect(await send()).toBe(204)
    await outcome
    expect(await waiting).toEqual(event)
    // Now the event is there before the call.
    await expect(receiver.waitFor('withdrawal.processed', fails)).rejects.toThrow('It has no such field.')
    expect(await send()).toBe(204)
  } finally {
    await receiver.close()
  }
})

it('answers 413 to a webhook that is too large', async () => {
  const receiver = await createWebhookReceiver({ secret })
  try {
    const bytes = 2 * 1024 * 1024
    const socket = connect(Number(new URL(receiver.url).port), '127.0.0.1')
    let answer = ''
    socket.setEncoding('latin1').on('data', (data) => (answer += data))
    const closed = once(socket, 'close')
    socket.write(`POST / HTTP/1.1\r\nhost: shop\r\nconnection: close\r\ncontent-length: ${bytes}\r\n\r\n`)
    socket.write('x'.repeat(bytes - 1))
    // Until the last byte it neither answers nor closes: the sender of an unfinished body would not read the answer.
    expect(await Promise.race([closed, sleep(500, 'open')])).toBe('open')
    expect(answer).toBe('')
    socket.end('x')
    await closed
    expect(answer).toMatch(/^HTTP\/1\.1 413 /)
  } finally {
    await receiver.close()
  }
})
