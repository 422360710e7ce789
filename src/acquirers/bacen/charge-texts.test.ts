import { describe, expect, it } from 'vitest'
import type { HttpResponse } from '../../../simulator/http.ts'
import { receiverAccount, simulatorCredentials } from '../../../simulator/receiver-account.ts'
import { cents } from '../../lib/money.ts'
import type { ChargeTexts } from '../acquirer.ts'
import { createBacenAcquirer } from './adapter.ts'
import { toShownText, toTextFields } from './charge-texts.ts'
import type { Send } from './http.ts'

const all = { payer: true, message: true, details: true }
const texts: ChargeTexts = {
  merchantName: 'Loja Exemplo',
  sellerName: null,
  description: null,
  items: [],
  payer: null,
}
const fieldsOf = (more: Partial<ChargeTexts>, takes = all) => toTextFields({ ...texts, ...more }, takes)

describe('a charge', () => {
  it('says from whom and what, and to whom it is addressed', () => {
    const items = [
      { title: 'Café torrado 500 g', quantity: 2 },
      { title: 'Xícara', quantity: 1 },
    ]
    const payer = { name: 'João d’Ávila', document: { value: '52998224725', type: 'CPF' } as const }
    expect(fieldsOf({ items, payer })).toEqual({
      devedor: { cpf: '52998224725', nome: "João d'Ávila" },
      solicitacaoPagador: 'Loja Exemplo: 2 x Café torrado 500 g, Xícara',
      infoAdicionais: [
        { nome: 'Loja', valor: 'Loja Exemplo' },
        { nome: 'Item 1', valor: '2 x Café torrado 500 g' },
        { nome: 'Item 2', valor: 'Xícara' },
      ],
    })
  })

  it('says the description where there is one, and the seller where it is another', () => {
    const items = [{ title: 'Café', quantity: 1 }]
    expect(fieldsOf({ description: 'Pedido 42', sellerName: 'Torrefação', items })).toMatchObject({
      solicitacaoPagador: 'Loja Exemplo: Pedido 42',
      infoAdicionais: [
        { nome: 'Loja', valor: 'Loja Exemplo' },
        { nome: 'Vendedor', valor: 'Torrefação' },
        { nome: 'Descrição', valor: 'Pedido 42' },
        { nome: 'Item 1', valor: 'Café' },
      ],
    })
    expect(fieldsOf({ sellerName: 'Loja Exemplo' }).infoAdicionais).toHaveLength(1)
  })

  it('says the merchant alone where nothing else is known', () => {
    expect(fieldsOf({})).toEqual({
      devedor: undefined,
      solicitacaoPagador: 'Loja Exemplo',
      infoAdicionais: [{ nome: 'Loja', valor: 'Loja Exemplo' }],
    })
  })

  it('is addressed to a company by its CNPJ', () => {
    const document = { value: '12ABC34501DE35', type: 'CNPJ' } as const
    expect(fieldsOf({ payer: { name: 'Padaria', document } }).devedor).toEqual({
      cnpj: '12ABC34501DE35',
      nome: 'Padaria',
    })
  })

  it('leaves out a payer without a readable name, and what the PSP does not take', () => {
    const payer = { name: '山田', document: { value: '52998224725', type: 'CPF' } as const }
    expect(fieldsOf({ payer }).devedor).toBeUndefined()
    const nothing = { devedor: undefined, solicitacaoPagador: undefined, infoAdicionais: undefined }
    expect(fieldsOf({ payer: { ...payer, name: 'Ana' } }, { payer: false, message: false, details: false })).toEqual(
      nothing,
    )
    expect(fieldsOf({ merchantName: '山田' })).toEqual(nothing)
  })

  it('keeps to the limits of the standard', () => {
    const long = 'ã'.repeat(255)
    const items = Array.from({ length: 100 }, () => ({ title: long.slice(0, 150), quantity: 100 }))
    const payer = { name: long, document: { value: '52998224725', type: 'CPF' } as const }
    const { devedor, solicitacaoPagador, infoAdicionais } = fieldsOf({
      ...{ merchantName: long, sellerName: 'x'.repeat(255), description: 'd'.repeat(140), items, payer },
    })
    expect(devedor?.nome).toHaveLength(200)
    expect(solicitacaoPagador).toBe(`${'ã'.repeat(37)}...: ${'d'.repeat(95)}...`)
    expect(solicitacaoPagador).toHaveLength(140)
    expect(infoAdicionais).toHaveLength(50)
    expect(Math.max(...(infoAdicionais ?? []).map(({ valor }) => valor.length))).toBe(200)
    expect(Math.max(...(infoAdicionais ?? []).map(({ nome }) => nome.length))).toBeLessThanOrEqual(50)
    // Three texts, 46 of the items, and how many more there are.
    expect(infoAdicionais?.at(-1)).toEqual({ nome: 'Outros itens', valor: '54' })
  })

  it('has 50 details without a sum of the others', () => {
    const items = Array.from({ length: 49 }, (_, index) => ({ title: `Item ${index}`, quantity: 1 }))
    expect(fieldsOf({ items }).infoAdicionais?.at(-1)).toEqual({ nome: 'Item 49', valor: 'Item 48' })
  })
})

it.each([
  ['Pão & Cia. (2 un.) — R$ 5,00…', 'Pão & Cia. (2 un.) - R$ 5,00...'],
  ['“Olá”  ‘mundo’', '"Olá" \'mundo\''],
  ['☕ Café 👨‍👩‍👧 família', 'Café família'],
  ['Łódź Čapek ﬁm ½', 'Lódz Capek fim'],
  ['Cafe\u0301', 'Café'],
  ['<script>[a]{b}|c\\', 'script (a)(b)/c'],
  ['日本語', ''],
  ['\u0007 \u2028', ''],
  ['  ', ''],
])('writes %j as %j', (text, shown) => {
  expect(toShownText(text, 140)).toBe(shown)
})

const txid = '0'.repeat(32)
const input = { txid, amount: cents(1050), expiresInSeconds: 900 }
const json = (status: number, body: unknown): HttpResponse => ({ status, headers: {}, body: JSON.stringify(body) })
const cob = {
  txid,
  calendario: { criacao: '2026-03-02T15:00:00.000Z', expiracao: 900 },
  valor: { original: '10.50' },
  status: 'ATIVA',
  pixCopiaECola: '000201',
}
const charge = expect.objectContaining({ txid, amount: 1050, uri: '000201', status: 'active' })

describe('the texts of a charge', () => {
  const shown = { ...texts, merchantName: 'Loja', description: 'Café' }
  /** A PSP that refuses requests with the field, and keeps the bodies of all requests for a charge. */
  function refusing(field: string, { exists = false, status = 400 } = {}) {
    const bodies: object[] = []
    const send: Send = async ({ isToken, method, body }) => {
      if (isToken) return json(200, { access_token: 't', token_type: 'Bearer', expires_in: 3600 })
      if (method === 'GET') return exists ? json(200, cob) : json(404, { title: 'none' })
      bodies.push(JSON.parse(body ?? ''))
      return body?.includes(field) ? json(status, { detail: `${field} recusado` }) : json(201, cob)
    }
    const acquirer = createBacenAcquirer({
      ...{ name: 'psp', send, credentials: simulatorCredentials, receiver: receiverAccount, isRemote: true },
      chave: '+5511999999999',
    })
    return { bodies, acquirer }
  }

  it('are left out if the PSP refuses the charge with them', async () => {
    const { bodies, acquirer } = refusing('solicitacaoPagador')
    expect(await acquirer.createCharge({ ...input, texts: shown })).toEqual({ outcome: 'created', charge })
    const bare = { calendario: { expiracao: 900 }, valor: { original: '10.50' }, chave: '+5511999999999' }
    const infoAdicionais = [
      { nome: 'Loja', valor: 'Loja' },
      { nome: 'Descrição', valor: 'Café' },
    ]
    expect(bodies).toEqual([{ ...bare, solicitacaoPagador: 'Loja: Café', infoAdicionais }, bare])
  })

  it('are not the reason if the charge is refused without them too', async () => {
    const { bodies, acquirer } = refusing('valor', { status: 422 })
    expect(await acquirer.createCharge({ ...input, texts: shown })).toEqual({
      outcome: 'refused',
      reason: 'valor recusado',
    })
    expect(bodies).toHaveLength(2)
  })

  it('are not requested again if the charge exists, and are the same in every repeat', async () => {
    const { bodies, acquirer } = refusing('valor', { exists: true })
    for (const _ of [1, 2])
      expect(await acquirer.createCharge({ ...input, texts: shown })).toEqual({ outcome: 'created', charge })
    expect(bodies).toHaveLength(2)
    expect(bodies[1]).toEqual(bodies[0])
  })
})
