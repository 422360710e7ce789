import { expect, it } from 'vitest'
import { generatedBank } from './generated-bank.ts'

it('a list has only payments of its own bank, also while another bank is read', async () => {
  const at = new Date('2026-11-20T12:00:00.000Z')
  const query = { inicio: at.toISOString(), fim: at.toISOString(), 'paginacao.itensPorPagina': '1' }
  const open = (name: string) => {
    const bank = generatedBank()
    for (const endToEndId of [`${name}0`, `${name}1`])
      bank.payments.set(endToEndId, { endToEndId, txid: null, amount: 1, at, fee: null, returns: [] })
    return async (page: number) => {
      const paged = { ...query, 'paginacao.paginaAtual': String(page) }
      const answer = await bank.send({ method: 'GET', path: '/pix', query: paged, headers: {}, body: '' })
      return JSON.parse(answer.body).pix[0].endToEndId
    }
  }
  const [one, other] = [open('one'), open('other')]
  expect([await one(0), await other(0), await one(1), await other(1)]).toEqual(['one0', 'other0', 'one1', 'other1'])
})
