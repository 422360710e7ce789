import { createHash, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEmptyDatabase, type TestDatabase } from '../test/support/database.ts'
import { type TestSimulator, testSimulator, txidOf } from '../test/support/simulator.ts'

let database: TestDatabase
let simulator: TestSimulator
let next = 1

beforeAll(async () => {
  database = await createEmptyDatabase()
  simulator = await testSimulator(database.db.pool)
})
afterAll(async () => {
  await simulator.close()
  await database.drop()
})

const text = 'O cliente recebeu o produto no endereço do pedido.'

async function disputed(): Promise<string> {
  const paid = await simulator.pay({ uri: await simulator.charge(txidOf(next++)) })
  const opened = paid.ok ? await simulator.openDispute({ endToEndId: paid.endToEndId }) : paid
  if (!opened.ok) throw new Error(opened.message)
  return opened.id
}
const putDefence = async (reference: string, id: string, justificativa = text, arquivos: string[] = []) =>
  await simulator.request('PUT', `/v2/gn/infracoes/${reference}/defesa/${id}`, { body: { justificativa, arquivos } })
const putFile = async (reference: string, defenceId: string, id: string, nome = 'prova.txt') => {
  const content = Buffer.from('prova')
  const sha256 = createHash('sha256').update(content).digest('hex')
  const body = { nome, tipo: 'text/plain', sha256, conteudo: content.toString('base64') }
  return await simulator.request('PUT', `/v2/gn/infracoes/${reference}/defesa/${defenceId}/arquivos/${id}`, { body })
}

describe('a defence', () => {
  it.each(['\u0000', '\u001b', '\ud800'])('is refused with the character %j in its text', async (character) => {
    const answer = await putDefence(await disputed(), randomUUID(), text + character)
    expect(answer).toMatchObject({ status: 422, body: { violacoes: [{ propriedade: 'justificativa' }] } })
  })

  it('is refused under the id of another dispute’s defence', async () => {
    const [one, other, id] = [await disputed(), await disputed(), randomUUID()]
    const first = await putDefence(one, id)
    expect(first.status).toBe(201)
    const answer = await putDefence(other, id)
    expect(answer).toMatchObject({ status: 422, body: { detail: expect.stringContaining('outra infração') } })
    expect(await putDefence(one, id)).toEqual({ ...first, status: 200 })
    expect((await putDefence(other, randomUUID())).status).toBe(201)
  })

  it('has ids without case', async () => {
    const [reference, id, file] = [await disputed(), randomUUID(), randomUUID()]
    const [bigId, bigFile] = [id.toUpperCase(), file.toUpperCase()]
    expect((await putFile(reference, bigId, bigFile)).body).toMatchObject({ idArquivo: file })
    const first = await putDefence(reference, bigId, text, [bigFile])
    expect(first).toMatchObject({ status: 201, body: { idDefesa: id } })
    expect(await putDefence(reference.toUpperCase(), bigId, text, [file])).toEqual({ ...first, status: 200 })
  })

  it('may have several lines', async () => {
    expect((await putDefence(await disputed(), randomUUID(), `${text}\r\n\n\tEntrega`)).status).toBe(201)
  })
})

it('a file is refused with a control character in its name', async () => {
  const answer = await putFile(await disputed(), randomUUID(), randomUUID(), 'prova\u0000.txt')
  expect(answer).toMatchObject({ status: 422, body: { violacoes: [{ propriedade: 'nome' }] } })
})
