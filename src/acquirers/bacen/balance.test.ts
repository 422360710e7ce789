import { afterEach, expect, it } from 'vitest'
import { quirksOf } from '../../../simulator/dialects.ts'
import type { HttpRequest, HttpResponse } from '../../../simulator/http.ts'
import { receiverAccount, receiverKey, simulatorCredentials } from '../../../simulator/receiver-account.ts'
import { createEmptyDatabase } from '../../../test/support/database.ts'
import { testSimulator, txidOf } from '../../../test/support/simulator.ts'
import { cents } from '../../lib/money.ts'
import { AcquirerUnavailable } from '../acquirer.ts'
import { efi } from '../dialects/efi.ts'
import { createBacenAcquirer } from './adapter.ts'

const cleanups: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

function open(send: (request: HttpRequest) => Promise<HttpResponse>, profile = efi.profile) {
  const account = { credentials: simulatorCredentials, chave: receiverKey, receiver: receiverAccount }
  return createBacenAcquirer({ name: 'efi', send, ...account, isRemote: true, profile })
}

/** Efí, with this answer to the balance request. */
function answering(status: number, body: unknown) {
  const requests: HttpRequest[] = []
  const acquirer = open(async (request) => {
    const isToken = request.path === '/oauth/token'
    if (!isToken) requests.push(request)
    const answer = isToken ? { access_token: 'x', token_type: 'Bearer', expires_in: 3600 } : body
    return { status: isToken ? 200 : status, headers: {}, body: JSON.stringify(answer) }
  })
  return { requests, read: async () => await acquirer.readBalance?.() }
}

// As in Efí's documentation of "Consultar saldo da conta".
const documented = { saldo: '100.00', bloqueios: { judicial: '3.00', med: '7.50', total: '10.50' } }

it('reads the balance as Efí documents it', async () => {
  const { requests, read } = answering(200, documented)
  expect(await read()).toEqual({ available: 10_000, blocked: 1_050, disputed: 750 })
  expect(requests).toMatchObject([{ method: 'GET', path: '/v2/gn/saldo', query: { bloqueios: 'true' } }])
})

it.each([
  ['an overdrawn account', { ...documented, saldo: '-0.50' }, -50],
  ['one decimal', { ...documented, saldo: '0.5' }, 50],
  ['a number', { ...documented, saldo: 12.34 }, 1_234],
])('reads %s to the cent', async (_, body, available) => {
  expect(await answering(200, body).read()).toMatchObject({ available })
})

it.each([
  ['a third decimal', 200, { ...documented, saldo: '0.001' }],
  ['no blocked part', 200, { saldo: '100.00' }],
  ['a refusal', 403, { nome: 'acesso_negado', mensagem: 'sem escopo' }],
  ['an error', 500, {}],
])('does not guess on %s', async (_, status, body) => {
  await expect(answering(status, body).read()).rejects.toThrow(AcquirerUnavailable)
})

it('offers no balance where the PSP’s API does not report one', () => {
  const send = async () => ({ status: 500, headers: {}, body: '' })
  expect(open(send, { ...efi.profile, offers: { ...efi.profile.offers, balance: 'none' } }).readBalance).toBeNull()
})

it('follows the receipts, fees and blocks of the simulated Efí', async () => {
  const database = await createEmptyDatabase()
  cleanups.push(database.drop)
  const bank = await testSimulator(database.db.pool, { dialect: { ...quirksOf('efi'), testsWebhook: false } })
  cleanups.push(async () => await bank.close())
  const acquirer = open(bank.handle)
  const read = async () => await acquirer.readBalance?.()
  expect(await read()).toEqual({ available: 0, blocked: 0, disputed: 0 })

  const charge = await acquirer.createCharge({ txid: txidOf(1), amount: cents(10_000), expiresInSeconds: 3600 })
  if (charge.outcome !== 'created') throw new Error('not created')
  const paid = await bank.pay({ uri: charge.charge.uri })
  if (!paid.ok) throw new Error(paid.message)
  // Its fee is 1.19 %.
  expect(await read()).toEqual({ available: 9_881, blocked: 0, disputed: 0 })

  await bank.openDispute({ endToEndId: paid.endToEndId })
  expect(await read()).toEqual({ available: 0, blocked: 9_881, disputed: 9_881 })
})
