import { createHash, randomUUID } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sql } from '../../src/db/sql.ts'
import type { DefenceView } from '../../src/defences/schema.ts'
import { dayOf } from '../../src/lib/brasilia.ts'
import { zipDefence } from '../../src/reports/defence-package.ts'
import { decide, dispute, fetchDisputed, pollUntil } from '../support/disputes.ts'
import { payOne } from '../support/refunds.ts'
import { addTestClient } from '../support/requests.ts'
import { type Answer, startTestService, type TestService } from '../support/service.ts'
import { type Browser, findSandboxMerchant, inviteUser, openBrowser, password } from '../support/users.ts'
import { eventually } from '../support/webhooks.ts'

let service: TestService
let owner: Browser
let reader: Browser
let admin: Browser
beforeAll(async () => {
  service = await startTestService({ environment: { TOKEN_LIFETIME_SECONDS: '86400' } })
  const merchantId = await findSandboxMerchant(service)
  owner = await signIn('owner', merchantId)
  reader = await signIn('read_only', null)
  admin = await signIn('admin', null)
})
afterAll(async () => await service.stop())

async function signIn(role: string, merchant: string | null): Promise<Browser> {
  return await openBrowser(service, { email: await inviteUser(service, { role, merchantId: merchant }), password })
}

const noProofOfDelivery = { kind: null, carrier: '', trackingCode: '', deliveredOn: '', receivedBy: '', invoice: '' }
const text = 'O cliente recebeu o produto no endereço do pedido.'
const pdf = Buffer.from('%PDF-1.7 proof')
const mebibyte = 1024 * 1024

async function openCase() {
  const { id, endToEnd } = await payOne(service)
  const reference = await dispute(service, endToEnd)
  await pollUntil(service, id, 'BLOCKED')
  const disputeId = (await fetchDisputed(service, id)).disputes[0]?.id ?? ''
  const path = `/dashboard/api/infraction/${disputeId}`
  return { id, endToEnd, reference, disputeId, path }
}

const upload = async (path: string, content: Buffer, name = 'proof.pdf', id: string = randomUUID()) =>
  await owner.call<DefenceView>(`${path}/file/${id}?name=${encodeURIComponent(name)}`, {
    method: 'PUT',
    rawBody: new Uint8Array(content),
    headers: { 'content-type': 'application/octet-stream' },
  })
const write = async (path: string, revision: number, more: object = {}) =>
  await owner.call<DefenceView>(`${path}/defence`, {
    method: 'PUT',
    body: { text, delivery: noProofOfDelivery, revision, ...more },
  })
const readDefence = async (path: string) => (await owner.call<DefenceView>(`${path}/defence`)).body
const send = async (path: string, more: object = {}) => {
  const { written, files } = await readDefence(path)
  const body = { revision: written?.revision ?? 0, fileIds: files.map(({ id }) => id), ...more }
  return await owner.call<DefenceView>(`${path}/defence/sending`, { body })
}
const untilState = async (path: string, state: string) => {
  let now: DefenceView | undefined
  await eventually(
    async () => {
      now = await readDefence(path)
      return now.written?.state === state
    },
    () => `the defence is ${now?.written?.state}, not ${state}`,
  )
  return now as unknown as DefenceView
}
type Problem = { code?: string; errors?: { field: string; code: string }[] }
const whyOf = (answer: Answer<unknown>) => {
  const { code, errors } = answer.body as Problem
  return [answer.status, code, ...(errors ?? []).map((one) => `${one.field} ${one.code}`)]
}
const received = async (reference: string) =>
  await service.db.query<{ text: string; files: string[] }>(sql`
    select text, files from simulator.defences where dispute_id = ${reference}`)

describe('the list of disputes', () => {
  type Disputes = {
    next: string | null
    previous: string | null
    counts: { status: string; count: number }[]
    data: { id: string; amount: number; defence: string | null }[]
    unattributed: unknown[]
  }
  const list = async (person: Browser, tab?: string, filters: object = {}) => {
    const body = { ...(tab !== undefined && { tab }), ...filters }
    const answer = await person.call<Disputes>('/dashboard/api/list/dispute', { body })
    expect(answer.status, answer.text).toBe(200)
    return answer.body
  }
  const countsOf = ({ counts }: Disputes) => Object.fromEntries(counts.map(({ status, count }) => [status, count]))
  const enter = async (body: object) =>
    (await admin.call<{ id: string }>('/dashboard/api/infraction', { body: { id: randomUUID(), ...body } })).body

  it('has a tab for each state, the nearest deadline first, and attention leads to exactly those', async () => {
    const other = await addTestClient(service)
    const outsider = await signIn('owner', other.merchantId)
    const made: string[] = []
    const payments = await Promise.all(Array.from({ length: 22 }, async () => await payOne(service)))
    for (const [index, { id }] of payments.entries()) {
      made.push((await enter({ transactionId: id, amount: 100 + index })).id)
    }
    // Deadlines are a day apart; the first has passed, three more are within three days.
    const now = service.clock.now().getTime()
    for (const [index, id] of made.entries()) {
      const deadline = new Date(now + (index - 0.5) * 86_400_000)
      await service.db.query(sql`
        update disputes set deadline_at = ${deadline}, opened_at = ${new Date(now + index)} where id = ${id}`)
    }
    const first = await list(admin, 'to_answer')
    expect(first.data.map(({ id }) => id)).toEqual(made.slice(0, 20))
    const second = await list(admin, 'to_answer', { after: first.next })
    expect(second.data.map(({ id }) => id)).toEqual(made.slice(20))
    expect((await list(admin, 'to_answer', { before: second.previous })).data).toEqual(first.data)
    expect(second.next).toBeNull()

    type Attention = { data: { kind: string; count: number; amount: number }[] }
    const due = await list(owner, 'to_answer', { isDueSoon: true })
    expect(due.data.map(({ id }) => id)).toEqual(made.slice(0, 4))
    const attention = (await owner.call<Attention>('/dashboard/api/attention')).body.data
    expect(attention.find(({ kind }) => kind === 'disputes_due')).toMatchObject({
      count: due.data.length,
      amount: due.data.reduce((sum, { amount }) => sum + amount, 0),
    })

    const path = `/dashboard/api/infraction/${made[0]}`
    await write(path, 0)
    expect((await list(owner, 'to_answer')).data[0]?.defence).toBe('draft')
    const body = { revision: 1, fileIds: [], reference: '4711' }
    const handedIn = await owner.call(`${path}/defence/hand-in`, { body })
    expect(handedIn.status, handedIn.text).toBe(200)
    const answered = await list(owner, 'answered')
    expect(answered.data).toMatchObject([{ id: made[0], defence: 'handed_in' }])
    expect((await list(owner, 'to_answer', { isDueSoon: true })).data.map(({ id }) => id)).toEqual(made.slice(1, 4))

    const decision = { transactionId: payments[21]?.id, decision: 'accept' }
    expect((await admin.call(`/dashboard/api/infraction/${made[21]}/decision`, { body: decision })).status).toBe(200)

    expect(countsOf(await list(owner))).toEqual({ to_answer: 20, answered: 1, lost: 1 })

    // Without a tab, all of them, the newest first; and those opened on some days.
    expect((await list(admin)).data[0]?.id).toBe(made.at(-1))
    const today = dayOf(service.clock.now())
    expect(countsOf(await list(admin, undefined, { from: today, until: today }))).toMatchObject({ to_answer: 20 })
    expect(await list(admin, undefined, { until: '2020-01-01' })).toMatchObject({ data: [], counts: [] })
    expect((await list(admin, 'lost', { clientId: service.sandbox.clientId })).data).toHaveLength(1)
    // Another merchant sees none of them, even if it names their client.
    for (const filters of [{}, { clientId: service.sandbox.clientId }])
      expect(await list(outsider, undefined, filters)).toMatchObject({ data: [], counts: [], unattributed: [] })
  })
})

describe('a defence', () => {
  it('reaches the PSP once with its text, proof of delivery and files, and is never changed afterwards', async () => {
    const { id, path, reference, disputeId } = await openCase()
    expect(await readDefence(path)).toMatchObject({ canSend: true, isOpen: true, written: null, files: [] })
    const fileId = randomUUID()
    expect((await upload(path, pdf, 'nota\u202efdp.exe', fileId)).status).toBe(200)
    // The response was lost, and the browser sends the file again.
    const twice = await upload(path, pdf, 'nota.pdf', fileId)
    const sha256 = createHash('sha256').update(pdf).digest('hex')
    expect(twice.body.files).toMatchObject([{ id: fileId, name: 'nota_fdp.pdf', type: 'application/pdf', sha256 }])
    expect(whyOf(await send(path))).toEqual([422, 'validation_failed', 'text required'])
    const delivery = {
      ...noProofOfDelivery,
      kind: 'goods',
      carrier: 'Correios',
      trackingCode: 'AB123',
      deliveredOn: '2026-11-20',
    }
    expect((await write(path, 0, { delivery })).status).toBe(200)
    expect(whyOf(await write(path, 0))).toEqual([409, 'defence_not_possible', 'status changed'])
    expect(whyOf(await send(path, { fileIds: [] }))).toEqual([409, 'defence_not_possible', 'status changed'])
    expect((await send(path)).body).toMatchObject({ isOpen: false })
    const sent = await untilState(path, 'sent')
    expect(sent.written).toMatchObject({ reference: expect.stringMatching(/^\d+$/), refusal: null })
    expect(await received(reference)).toEqual([
      {
        text: `${text}\n\nEntrega: produto físico\nTransportadora: Correios\nCódigo de rastreio: AB123\nEntregue em: 20/11/2026`,
        files: [fileId],
      },
    ])
    const [stored] = await service.db.query<{ content: Buffer }>(sql`
      select content from simulator.defence_files where id = ${fileId}`)
    expect(stored?.content.equals(pdf)).toBe(true)
    for (const answer of [
      await write(path, 1),
      await upload(path, pdf),
      await owner.call(`${path}/file/${fileId}`, { method: 'DELETE' }),
      await send(path),
      await owner.call(`${path}/defence/hand-in`, { body: { revision: 1, fileIds: [fileId], reference: '' } }),
    ])
      expect(whyOf(answer)).toEqual([409, 'defence_not_possible', 'status already_sent'])
    const actions = await service.db.query<{ action: string }>(sql`
      select action from audit_log where record_id = ${id} order by id`)
    expect(actions.map(({ action }) => action)).toEqual([
      ...['infraction.add_file', 'infraction.write_defence', 'infraction.send_defence'],
    ])
    await decide(service, reference, 'reject')
    await pollUntil(service, id, 'PAID')
    expect((await fetchDisputed(service, id)).disputes).toMatchObject([{ id: disputeId, status: 'REJECTED' }])
  })

  it('that the PSP refuses says why, can be corrected, and is sent again', async () => {
    const { path, reference } = await openCase()
    await write(path, 0, { text: 'Entregue.' })
    await send(path)
    const refused = await untilState(path, 'refused')
    expect(refused).toMatchObject({ isOpen: true, written: { refusal: expect.stringContaining('20 caracteres') } })
    expect(await received(reference)).toEqual([])
    expect((await write(path, 1)).status).toBe(200)
    await send(path)
    expect((await untilState(path, 'sent')).written).toMatchObject({ refusal: null })
    expect(await received(reference)).toHaveLength(1)
  })

  it.each(['sent', 'handed_in'])('that was %s is a draft again when the PSP reopens the dispute', async (state) => {
    const { id, path, reference, disputeId } = await openCase()
    const submission = async () => {
      const [one] = await service.db.query<{ id: string; files: string[] }>(sql`
        select id, files from simulator.defences where dispute_id = ${reference}`)
      return one
    }
    const toAnswer = async () => {
      const body = { tab: 'to_answer' }
      const answer = await owner.call<{ data: { id: string }[] }>('/dashboard/api/list/dispute', { body })
      return answer.body.data.some((one) => one.id === disputeId)
    }
    await write(path, 0)
    const fileIds = [(await upload(path, pdf)).body.files[0]?.id ?? '']
    const handIn = { body: { revision: 1, fileIds, reference: '4711' } }
    if (state === 'sent') await send(path)
    else await owner.call(`${path}/defence/hand-in`, handIn)
    await untilState(path, state)
    const first = await submission()
    expect(await toAnswer()).toBe(false)
    await decide(service, reference, 'reject')
    await pollUntil(service, id, 'PAID')
    // A PSP that reopens a dispute accepts another defence.
    await service.db.query(sql`delete from simulator.defences where dispute_id = ${reference}`)
    await service.db.query(sql`
      update simulator.disputes set state = 'open', changed_at = ${service.clock.now()} where id = ${reference}`)
    await pollUntil(service, id, 'BLOCKED')
    expect(await toAnswer()).toBe(true)
    expect(await readDefence(path)).toMatchObject({
      isOpen: true,
      written: { state: 'draft', text, answeredAt: null, reference: null },
    })
    const added = (await upload(path, Buffer.from('mais uma prova'), 'mais.txt')).body.files.map((file) => file.id)
    expect((await write(path, 1, { text: `${text} Segue mais uma prova.` })).status).toBe(200)
    expect((await send(path)).status).toBe(200)
    await untilState(path, 'sent')
    const second = await submission()
    expect(second?.files.toSorted()).toEqual(added.toSorted())
    expect(second?.id).not.toBe(first?.id)
    expect(await toAnswer()).toBe(false)
  })

  it('is refused once the dispute is decided', async () => {
    const { id, path, reference } = await openCase()
    await decide(service, reference, 'reject')
    await pollUntil(service, id, 'PAID')
    expect(whyOf(await write(path, 0))).toEqual([409, 'defence_not_possible', 'status not_open'])
    expect(await readDefence(path)).toMatchObject({ isOpen: false })
  })

  it('can be handed in by a person, with the package of everything', async () => {
    const { id: transactionId, disputeId, path, endToEnd } = await openCase()
    await write(path, 0)
    await upload(path, Buffer.from('conversa com o cliente'), 'conversa.txt')
    const zip = await fetch(`${service.baseUrl}${path}/defence.zip?language=pt`, { headers: { cookie: owner.cookie } })
    expect(zip.headers.get('content-disposition')).toBe(`attachment; filename="defesa-${endToEnd}.zip"`)
    const bytes = Buffer.from(await zip.arrayBuffer())
    for (const name of ['defesa.pdf', 'arquivos/01-conversa.txt']) expect(bytes.includes(name), name).toBe(true)
    const [, another] = (await upload(path, pdf)).body.files
    const key = { merchantId: await findSandboxMerchant(service), transactionId, disputeId }
    const { pieces } = await zipDefence(service, key, 'pt')
    await owner.call(`${path}/file/${another?.id}`, { method: 'DELETE' })
    await expect(buffer(pieces), 'a file is deleted meanwhile').rejects.toThrow(/was deleted/)
    const { files } = await readDefence(path)
    const body = { revision: 1, fileIds: files.map(({ id }) => id), reference: 'Protocolo 99' }
    const handedIn = await owner.call<DefenceView>(`${path}/defence/hand-in`, { body })
    expect(handedIn.body.written).toMatchObject({ state: 'handed_in', reference: 'Protocolo 99' })
    expect(whyOf(await send(path))).toEqual([409, 'defence_not_possible', 'status already_sent'])
  })

  it('is erased with the person, and keeps the hash of its files', async () => {
    const document = '11144477735'
    const { id, path, reference } = await openCase()
    await service.db.query(sql`update transactions set customer_document = ${document} where id = ${id}`)
    await write(path, 0, { delivery: { ...noProofOfDelivery, receivedBy: 'Maria da Silva' } })
    const { body } = await upload(path, Buffer.from('Maria da Silva recebeu'), 'maria.txt')
    const erase = async () =>
      await admin.call('/dashboard/api/person/erasure', { body: { document, confirm: document } })
    expect(whyOf(await erase())).toEqual([422, 'erasure_not_possible', 'document still_open'])
    await decide(service, reference, 'reject')
    await pollUntil(service, id, 'PAID')
    expect((await erase()).status).toBe(200)
    const erased = await readDefence(path)
    expect(erased.written).toMatchObject({ text: '', delivery: noProofOfDelivery, isErased: true })
    const file = { name: 'erased', isErased: true, sha256: body.files[0]?.sha256 }
    expect(erased.files).toMatchObject([file])
    expect((await owner.call(`${path}/file/${body.files[0]?.id}`)).status).toBe(404)
  })

  it('is changed only by those who may, and its files stay with their merchant and dispute', async () => {
    const [one, other] = [await openCase(), await openCase()]
    const { body } = await upload(one.path, Buffer.from('prova'), 'prova.txt')
    const file = `/file/${body.files[0]?.id}`
    const served = await reader.call(one.path + file)
    expect([served.status, served.text]).toEqual([200, 'prova'])
    expect(served.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''prova.txt")
    expect(served.headers.get('content-security-policy')).toBe("sandbox; default-src 'none'")
    expect(served.headers.get('x-content-type-options')).toBe('nosniff')
    expect((await owner.call(other.path + file)).status).toBe(404)
    expect((await owner.call(other.path + file, { method: 'DELETE' })).status).toBe(404)
    const refused = await reader.call(`${one.path}/defence`, {
      method: 'PUT',
      body: { text, delivery: noProofOfDelivery, revision: 0 },
    })
    expect(whyOf(refused)).toEqual([403, 'permission_missing'])
  })
})

describe('a file of a defence', () => {
  it.each([
    ['a program', Buffer.from('4d5a90000300000004000000ffff', 'hex'), 'proof.pdf'],
    ['a page', Buffer.from('<!doctype html><script>alert(1)</script>'), 'proof.txt'],
    ['a page after some text', Buffer.from('proof\n<script>alert(1)</script>'), 'proof.txt'],
    ['an SVG', Buffer.from('\ufeff <svg xmlns="http://www.w3.org/2000/svg"/>'), 'proof.png'],
    ['text that is not UTF-8', Buffer.from([0x61, 0xff, 0xfe]), 'proof.txt'],
  ])('is refused if it is %s, whatever its name', async (_, content, name) => {
    const { path } = await openCase()
    expect(whyOf(await upload(path, content, name))).toEqual([422, 'validation_failed', 'file invalid_format'])
  })

  it('has a real type and a name that fits it, whatever was sent', async () => {
    const { path } = await openCase()
    const samples: [Buffer, string][] = [
      [Buffer.from('89504e470d0a1a0a00', 'hex'), '../../etc/passwd'],
      [Buffer.from('ffd8ffe000', 'hex'), 'C:\\fotos\\entrega.html'],
      [Buffer.from('RIFF0000WEBPVP8 '), '.'],
      [Buffer.from('olá'), 'con.txt'],
      [Buffer.from('olá de novo'), 'aux.nota.txt'],
    ]
    for (const [content, name] of samples) await upload(path, content, name)
    const names = (await readDefence(path)).files.map((file) => [file.type, file.name]).sort()
    expect(names).toEqual([
      ['image/jpeg', 'entrega.jpg'],
      ['image/png', 'passwd.png'],
      ['image/webp', 'file.webp'],
      ['text/plain', 'file.txt'],
      ['text/plain', 'file.txt'],
    ])
  })

  it('may be as large as the limit, and no larger; so may all together', async () => {
    const { path } = await openCase()
    const full = Buffer.concat([pdf, Buffer.alloc(5 * mebibyte - pdf.length)])
    expect(whyOf(await upload(path, Buffer.alloc(0)))).toEqual([422, 'validation_failed', 'file required'])
    const over = await upload(path, Buffer.concat([full, Buffer.alloc(1)])).catch(() => null)
    if (over) expect(whyOf(over)).toEqual([422, 'validation_failed', 'file too_large'])
    for (let count = 0; count < 4; count += 1) expect((await upload(path, full)).status).toBe(200)
    expect(whyOf(await upload(path, pdf))).toEqual([422, 'validation_failed', 'file too_large'])
  })

  it('is one of ten at most, also if many arrive at once', async () => {
    const { path } = await openCase()
    const answers = await Promise.all(Array.from({ length: 12 }, async () => await upload(path, pdf)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10)
    expect(whyOf(await upload(path, pdf))).toEqual([422, 'validation_failed', 'file too_many'])
  })
})

it('a dispute needs attention near its deadline until it is answered, also after a late defence', async () => {
  await service.db.query(sql`update disputes set answered_at = ${service.clock.now()} where state = 'open'`)
  const { path } = await openCase()
  const attention = async () => {
    const { body } = await owner.call<{ data: { kind: string; count: number }[] }>('/dashboard/api/attention')
    return body.data.find(({ kind }) => kind === 'disputes_due')?.count ?? 0
  }
  expect(await attention()).toBe(0)
  await service.db.query(sql`update simulator.disputes set deadline_at = ${service.clock.now()}`)
  await service.runJob('transactions.disputes')
  expect(await attention()).toBe(1)
  service.clock.advance(1_000)
  await write(path, 0)
  expect((await send(path)).status).toBe(200)
  expect((await untilState(path, 'refused')).written?.refusal).toContain('prazo')
  expect(await attention()).toBe(1)
  const { body } = await owner.call(`${path}/defence/hand-in`, { body: { revision: 1, fileIds: [], reference: '' } })
  expect(body).toMatchObject({ written: { state: 'handed_in' } })
  expect(await attention()).toBe(0)
})
