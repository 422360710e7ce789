import { describe, expect, it } from 'vitest'
import { receiverAccount } from '../../../simulator/receiver-account.ts'
import { manualClock } from '../../../test/support/clock.ts'
import { txidOf } from '../../../test/support/simulator.ts'
import { type Acquirer, UnreadableCallback } from '../acquirer.ts'
import { createBacenAcquirer } from './adapter.ts'
import type { HttpRequest, HttpResponse } from './http.ts'

const txid = txidOf(1)
const json = (status: number, body: unknown): HttpResponse => ({ status, headers: {}, body: JSON.stringify(body) })

/** An acquirer whose PSP gives this answer to everything but a token request. */
const open = (answer: (request: HttpRequest) => HttpResponse): Acquirer =>
  createBacenAcquirer({
    name: 'psp',
    send: async (request) =>
      request.path.endsWith('/token')
        ? json(200, { access_token: 't', token_type: 'Bearer', expires_in: 3600 })
        : answer(request),
    credentials: { clientId: 'a', clientSecret: 'b' },
    chave: '+5511999999999',
    receiver: receiverAccount,
    isRemote: true,
    clock: manualClock(),
  })

describe('callbacks', () => {
  const endToEndId = `E${'1'.repeat(31)}`
  const acquirer = open(() => json(200, {}))

  it('are read leniently', () => {
    const second = `E${'2'.repeat(31)}`
    const body = { pix: [{ endToEndId, txid, valor: 1 }, { endToEndId: second }, { txid }, null, { endToEndId: 'x' }] }
    expect(acquirer.readCallback(body)).toEqual([
      { eventKey: endToEndId, endToEndId, txid, payoutId: null },
      { eventKey: second, endToEndId: second, txid: null, payoutId: null },
    ])
    expect(acquirer.readCallback({ pix: [{ endToEndId, txid: '***' }] })).toMatchObject([{ txid: null }])
    expect(acquirer.readCallback({ pix: [] })).toEqual([])
    expect(acquirer.readCallback(body.pix)).toEqual(acquirer.readCallback(body))
  })

  it.each([undefined, null, {}, { evento: 'teste_webhook', data_criacao: '2026-01-01' }, { cobsr: [] }, []])(
    'without a payment are not an error: %j',
    (body) => {
      expect(acquirer.readCallback(body)).toEqual([])
    },
  )

  it('of another key than ours are skipped, and reported', () => {
    const skipped: string[] = []
    const entries = ['+5511999999999', 'other@psp.example', undefined].map((chave) => ({ endToEndId, chave }))
    const notices = acquirer.readCallback({ pix: [...entries, null] }, (reason) => skipped.push(reason))
    expect(notices).toHaveLength(2)
    expect(skipped).toEqual(['other_key', 'unreadable_entry'])
    expect(acquirer.readCallback({ pix: [entries[1]] })).toEqual([])
    // No PSP documents which key a payout's `chave` is.
    const payout = { endToEndId, chave: 'other@psp.example', gnExtras: { idEnvio: 'A1' } }
    expect(acquirer.readCallback({ pix: [payout] })).toMatchObject([{ payoutId: 'A1' }])
  })

  it.each(['x', [null], { pix: {} }, { pix: null }, { pix: [null] }, { pix: [{ endToEndId: '\u0000' }] }])(
    'without any readable entry are unreadable: %j',
    (body) => {
      expect(() => acquirer.readCallback(body)).toThrow(UnreadableCallback)
    },
  )

  it('are registered under the key, encoded, also where the PSP refuses to do it twice', async () => {
    const url = 'https://shop.example/x'
    const paths: string[] = []
    const again = open((request) => {
      paths.push(`${request.method} ${request.path}`)
      return request.method === 'PUT' ? json(422, { mensagem: 'já cadastrado' }) : json(200, { webhookUrl: url })
    })
    await again.registerCallback(url)
    expect(paths).toEqual(['PUT /webhook/%2B5511999999999', 'GET /webhook/%2B5511999999999'])
    await expect(again.registerCallback('https://shop.example/y')).rejects.toThrow('já cadastrado')
  })
})
