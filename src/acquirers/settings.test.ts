import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { receiverAccount, receiverKey } from '../../simulator/receiver-account.ts'
import { makeFolder, makeTestCertificates } from '../../test/support/https-psp.ts'
import { ConfigError } from '../config.ts'
import { systemClock } from '../lib/clock.ts'
import { readAcquirersFile } from './settings.ts'

let files: Awaited<ReturnType<typeof makeFolder>>
beforeAll(async () => {
  const made = await makeTestCertificates()
  files = await makeFolder({
    'secret.txt': 'of a file\n',
    'empty.txt': '\n',
    'client.pem': made.client.certificate,
    'client.key': made.client.key,
    'other.key': made.otherClient.key,
  })
})
afterAll(() => files.remove())

const usual = {
  name: 'psp',
  dialect: 'generic',
  baseUrl: 'https://psp.example.com/',
  clientId: 'id',
  clientSecret: 'secret',
  chave: receiverKey,
  receiver: receiverAccount,
}

async function read(value: unknown) {
  await files.write('acquirers.json', typeof value === 'string' ? value : JSON.stringify(value))
  const variables: Record<string, string> = { SECRET: 'of a variable', EMPTY: '' }
  return readAcquirersFile({
    path: files.path('acquirers.json'),
    variable: (name) => variables[name],
    clock: systemClock,
  })
}

/** The errors, without the file's name before each. */
async function errorsOf(value: unknown): Promise<string[]> {
  const error = await read(value).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ConfigError)
  return (error as ConfigError).message
    .split('\n')
    .slice(1)
    .map((line) => line.replace(/^ {2}- (acquirers\.json: )?/, ''))
}

const one = async (more: object) => {
  const { acquirers } = await read({ acquirers: [{ ...usual, ...more }] })
  return acquirers[0] ?? expect.unreachable()
}
const errorsOfOne = async (more: object) => await errorsOf({ acquirers: [{ ...usual, ...more }] })

describe('an acquirer of the settings file', () => {
  it('has defaults and cannot be changed', async () => {
    const settings = await one({})
    expect(settings).toMatchObject({
      environment: 'production',
      hosts: { baseUrl: 'https://psp.example.com/' },
      credentials: { clientId: 'id', clientSecret: 'secret' },
      receiver: receiverAccount,
      tls: null,
      timeoutMs: 10_000,
      callbacks: {},
      fees: { payment: null, payout: null },
      profile: { paths: { cob: '/cob' } },
    })
    expect(Object.isFrozen(settings.profile.paths)).toBe(true)
  })

  it('uses the hosts of its dialect, and requests the token from another host when one is set', async () => {
    const at = async (more: object) =>
      (await one({ dialect: 'itau', tls: { certFile: 'client.pem', keyFile: 'client.key' }, ...more })).hosts
    expect(await at({ baseUrl: undefined })).toEqual({
      baseUrl: 'https://secure.api.itau',
      tokenUrl: 'https://sts.itau.com.br/api/oauth/token',
    })
    expect(await at({ baseUrl: 'https://psp.example.com' })).toEqual({ baseUrl: 'https://psp.example.com' })
    const tokenUrl = 'https://id.example.com/token'
    expect(await at({ tokenUrl })).toEqual({ baseUrl: 'https://psp.example.com/', tokenUrl })
  })

  it('may keep its secrets in variables and in files beside the settings', async () => {
    const { credentials, profile } = await one({
      dialect: 'bb',
      clientId: { env: 'SECRET' },
      clientSecret: { file: 'secret.txt' },
      settings: { appKey: { file: files.path('secret.txt') } },
    })
    expect(credentials).toEqual({ clientId: 'of a variable', clientSecret: 'of a file' })
    expect(profile.query).toEqual({ 'gw-dev-app-key': 'of a file' })
  })

  it('may override its dialect field by field', async () => {
    const { profile } = await one({
      dialect: 'efi',
      overrides: {
        token: { format: 'form', query: { client: '{clientId}', branch: '{branch}' } },
        ...{ paths: { cob: '/v9/cob' }, headers: { 'x-shop': '{shop}' } },
      },
      settings: { shop: '7', branch: '1' },
    })
    expect(profile).toMatchObject({
      token: { format: 'form', path: '/oauth/token', query: { client: 'id', branch: '1' } },
      paths: { cob: '/v9/cob', pix: '/v2/pix' },
      headers: { 'x-shop': '7' },
      offers: { payouts: true },
    })
  })

  it('has the key and the document in the form of the Pix system', async () => {
    const { chave, receiver } = await one({
      chave: 'A@B.Example.com',
      receiver: { ...receiverAccount, document: '45.887.912/0001-65', pix: undefined },
    })
    expect([chave, receiver.document, receiver.pix]).toEqual([
      'a@b.example.com',
      '45887912000165',
      { key: 'a@b.example.com', type: 'EMAIL' },
    ])
  })

  it('reads the agreed fees', async () => {
    const { fees } = await one({ fees: { payment: { basisPoints: 119 }, payout: { fixed: 200, maximum: null } } })
    expect(fees).toEqual({
      payment: { fixed: 0, basisPoints: 119, minimum: 0, maximum: null },
      payout: { fixed: 200, basisPoints: 0, minimum: 0, maximum: null },
    })
  })
})

describe('an error is reported with its path and what to do', () => {
  it.each([
    [{ clientid: 'x' }, 'acquirers[0].clientid is not known: allowed are name, dialect,'],
    [{ overrides: { path: {} } }, 'acquirers[0].overrides.path is not known: allowed are token, paths,'],
    [{ overrides: { token: { formt: 'json' } } }, 'acquirers[0].overrides.token.formt is not known: allowed are path,'],
    [{ overrides: { list: { daysMax: 0 } } }, 'acquirers[0].overrides.list.daysMax must be a whole number of days'],
    [{ overrides: { headers: { 'a b': 'x' } } }, 'acquirers[0].overrides.headers'],
    [{ name: 'Efí' }, 'acquirers[0].name must be 1 to 32 of a-z, 0-9 and -'],
    [{ dialect: 'nubank' }, 'acquirers[0].dialect must be one of generic, efi, bb,'],
    [{ chave: '1' }, 'acquirers[0].chave must be the Pix key'],
    [{ receiver: { ...receiverAccount, document: '1' } }, 'acquirers[0].receiver.document must be a CPF or CNPJ'],
    [{ receiver: { ...receiverAccount, type: 'PF' } }, 'acquirers[0].receiver.type must be PJ: the document is a CNPJ'],
    [{ clientSecret: undefined }, 'acquirers[0].clientSecret is not set'],
    [{ clientSecret: 7 }, 'acquirers[0].clientSecret must be a text, { "env":'],
    [{ clientSecret: { env: 'NONE' } }, 'acquirers[0].clientSecret names the variable NONE, which is not set'],
    [{ clientSecret: { env: 'EMPTY' } }, 'acquirers[0].clientSecret names the variable EMPTY, which is not set'],
    [{ clientSecret: { file: 'none' } }, /^acquirers\[0\].clientSecret names the file \/.*none, which does not exist/],
    [{ clientSecret: { file: 'empty.txt' } }, /clientSecret names the file \/.*empty.txt, which is empty$/],
    [
      { baseUrl: undefined },
      'acquirers[0].baseUrl is not set, and Any PSP that speaks API Pix has no known address for production',
    ],
    [{ baseUrl: 'http://psp.example.com' }, 'acquirers[0].baseUrl must begin with https:// in production'],
    [{ baseUrl: 'psp.example.com' }, 'acquirers[0].baseUrl must be an address'],
    [{ baseUrl: 7 }, 'acquirers[0].baseUrl must be an address'],
    [{ tokenUrl: true }, 'acquirers[0].tokenUrl must be an address'],
    [
      { environment: 'sandbox', baseUrl: {}, tls: { certFile: 'client.pem', keyFile: 'client.key' } },
      'acquirers[0].baseUrl must be an address',
    ],
    [{ dialect: 'efi', baseUrl: undefined }, 'acquirers[0].tls is not set: Efí'],
    [{ dialect: 'bb' }, 'acquirers[0].settings.appKey is not set: the developer_application_key'],
    [
      { settings: { appkey: 'x' } },
      'acquirers[0].settings.appkey is not known: Any PSP that speaks API Pix has no settings, and no header or query parameter in overrides contains {appkey}',
    ],
    [{ tls: { pfxFile: 'none.pfx' } }, /^acquirers\[0\].tls.pfxFile: there is no file \/.*none.pfx$/],
    [{ tls: { certFile: 'client.pem' } }, 'acquirers[0].tls.keyFile is not set, and'],
    [{ tls: { certFile: 'client.pem', keyFile: 'other.key' } }, /^acquirers\[0\].tls.keyFile: .* is not the key of/],
    [{ tls: { certFile: 'a', keyFile: 'b', pfxFile: 'c' } }, 'acquirers[0].tls has both a PFX and a PEM certificate'],
    [
      { environment: 'sandbox', baseUrl: 'http://a.example', tls: { pfxFile: 'x' } },
      'acquirers[0].tls has no effect while baseUrl',
    ],
    [{ timeoutMs: 5 }, 'acquirers[0].timeoutMs must be a whole number of milliseconds, 500 to 60000'],
    [{ fees: { payment: { basisPoints: 1.5 } } }, 'acquirers[0].fees.payment.basisPoints must be a whole number'],
    [{ callbacks: { baseurl: 'x' } }, 'acquirers[0].callbacks.baseurl is not known: allowed are register,'],
  ])('%j', async (more, said) => {
    const errors = await errorsOfOne(more)
    expect(errors).toHaveLength(1)
    if (typeof said === 'string') expect(errors[0]).toContain(said)
    else expect(errors[0]).toMatch(said)
  })

  it('all errors at once', async () => {
    const [first, second] = [
      { ...usual, chave: '1', clientSecret: { env: 'NONE' }, tls: { pfxFile: 'none' } },
      { ...usual, dialect: 'bb', timeoutMs: '9' },
    ]
    const routes = [{ acquirers: [{ name: 'other' }], from: '25:00' }]
    expect(
      (await errorsOf({ acquirers: [first, second], routes, more: 1 })).map((error) => error.split(/:? /)[0]),
    ).toEqual([
      'acquirers[0].chave',
      'acquirers[0].clientSecret',
      'acquirers[0].tls.pfxFile',
      'acquirers[1].name',
      'acquirers[1].settings.appKey',
      'acquirers[1].timeoutMs',
      'more',
      'routes[0].acquirers[0].name',
      'routes[0].from',
    ])
  })

  it('an error of the file itself', async () => {
    expect(await errorsOf('{')).toEqual([expect.stringMatching(/acquirers\.json is not JSON: /)])
    expect(await errorsOf({})).toEqual(['acquirers is not set'])
    expect(await errorsOf([])).toHaveLength(1)
    expect(await errorsOf({ acquirers: [] })).toHaveLength(1)
    const path = files.path('none.json')
    expect(() => readAcquirersFile({ path, variable: () => undefined, clock: systemClock })).toThrow(
      /which does not exist/,
    )
  })

  it('without repeating a secret', async () => {
    const errors = await errorsOfOne({ clientSecret: 'hush-hush', settings: { x: 'hush-hush' }, chave: 'hush-hush' })
    expect(errors.join()).not.toContain('hush-hush')
  })
})

describe('a route', () => {
  const [first, second] = [usual, { ...usual, name: 'other' }]
  const route = (more: object) => ({ acquirers: [first, second], routes: [more] })

  it('is read, with a weight of 1 by default', async () => {
    const given = { clients: ['c'], minAmount: 1, maxAmount: 2, days: ['mon'], from: '08:00', to: '24:00' }
    const members = [{ name: 'psp', weight: 80 }, { name: 'other' }]
    expect((await read(route({ ...given, acquirers: members }))).routes).toEqual([
      {
        ...given,
        acquirers: [
          { name: 'psp', weight: 80 },
          { name: 'other', weight: 1 },
        ],
      },
    ])
    expect((await read({ acquirers: [first] })).routes).toEqual([])
  })

  it.each([
    [{ acquirers: [] }, 'routes[0].acquirers'],
    [{ acquirers: [{ name: 'none' }] }, 'routes[0].acquirers[0].name is not one of the acquirers: psp, other'],
    [{ acquirers: [{ name: 'psp' }, { name: 'psp' }] }, 'routes[0].acquirers[1].name appears twice in this route'],
    [{ acquirers: [{ name: 'psp', weight: -1 }] }, 'routes[0].acquirers[0].weight must be a number from 0 on'],
    [{ acquirers: [{ name: 'psp' }], minAmount: 2, maxAmount: 1 }, 'routes[0].maxAmount is below minAmount'],
    [{ acquirers: [{ name: 'psp' }], days: ['monday'] }, 'routes[0].days[0] must be one of sun, mon,'],
  ])('is refused: %j', async (more, said) => {
    expect(await errorsOf(route(more))).toEqual([expect.stringContaining(said)])
  })
})
