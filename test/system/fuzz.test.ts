import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import fc from 'fast-check'
import { Client } from 'undici'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { lateAmount } from '../../simulator/charges.ts'
import { type ApiDocument, listOperations, type Operation, toPointer } from '../support/api-document.ts'
import { arbitraryRequest, type FuzzRequest } from '../support/fuzz.ts'
import type { Page } from '../support/pages.ts'
import { lengthOf } from '../support/random.ts'
import { smallestTransaction, startTestService, type TestService } from '../support/service.ts'

/** FUZZ_SEED repeats a run. The test's name contains the seed. */
const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31)
const runs = lengthOf({ short: 150, long: 5_000 })
const atOnce = 4

/** Statuses of answers before an operation runs, such as for an invalid HTTP request. */
const statusesOfHttp = [400, 404, 405, 413, 415, 431]

let service: TestService
let client: Client

beforeAll(async () => {
  service = await startTestService()
  client = new Client(service.baseUrl, { pipelining: 1 })
})
afterAll(async () => {
  await client.close()
  await service.stop()
})

it(`answers whatever it is sent as its document says, never with a 5xx (FUZZ_SEED=${seed})`, {
  timeout: 300_000,
}, async () => {
  const document = (await service.call<ApiDocument>('/openapi.json')).body
  const operations = listOperations(document)
  const check = createCheck(document, operations)
  const known = await learn()
  // A bank that loses answers causes correct 500s, which say that the outcome is unknown.
  const requested = operations.filter(({ method, path }) => `${method} ${path}` !== 'POST /sandbox/personality')
  const request = arbitraryRequest(requested, { document, token: service.token, known }).filter(
    // The simulator answers a charge of this amount only after half a minute.
    ({ body }) => body === null || !body.includes(String(lateAmount)),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: atOnce, maxLength: atOnce }), async (requests) => {
      await Promise.all(requests.map(async (one) => check(one, await send(one))))
    }),
    { seed, numRuns: runs, interruptAfterTimeLimit: 150_000 },
  )
})

/** Creates records and returns their ids and codes, so that not every request fails with 404. */
async function learn(): Promise<Record<string, string[]>> {
  const made: { id: string; pixResponse: { uri: string } }[] = []
  for (let count = 0; count < 5; count++) {
    const webhookUrl = 'https://receiver.invalid/hook'
    made.push(
      (await service.call<(typeof made)[number]>('/transaction', { body: smallestTransaction({ webhookUrl }) })).body,
    )
  }
  const { nextCursor } = (await service.call<Page>('/transaction?perPage=1')).body
  return {
    id: made.map(({ id }) => id),
    uri: made.map(({ pixResponse }) => pixResponse.uri),
    cursor: [String(nextCursor)],
    idempotencyKey: ['fuzz-key-1', 'fuzz-key-2'],
    client_id: [service.sandbox.clientId],
    client_secret: [service.sandbox.clientSecret],
    grant_type: ['client_credentials'],
  }
}

type Received = { status: number; type: string; requestId: string; text: string }

async function send({ method, path, headers, body }: FuzzRequest): Promise<Received> {
  const answer = await client.request({ method: method as 'GET', path, headers, body })
  const type = String(answer.headers['content-type'] ?? '').split(';', 1)[0] ?? ''
  return {
    status: answer.statusCode,
    type,
    requestId: String(answer.headers['x-request-id']),
    text: await answer.body.text(),
  }
}

function createCheck(document: ApiDocument, operations: Operation[]) {
  const ajv = new Ajv2020({ strict: false, validateSchema: false })
  addFormats.default(ajv)
  ajv.addSchema(document, 'api')
  const compiled = new Map<string, ValidateFunction>()
  const validator = (pointer: string) => {
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `api#${pointer}` })
    compiled.set(pointer, validate)
    return validate
  }

  return (request: FuzzRequest, answer: Received) => {
    const { status, type, text, requestId } = answer
    const said = `${request.method} ${request.path.slice(0, 300)}: ${status} ${text.slice(0, 300)}`
    expect(status, said).toBeLessThan(500)
    expect(requestId, said).toMatch(/^[\w.:/+=@~-]{1,128}$/)
    // HEAD is GET without the body.
    const requested = request.method === 'HEAD' ? 'GET' : request.method
    const ofMethod = operations.filter(({ method }) => method === requested)
    // With another method, an address such as /withdrawal/search matches /withdrawal/{id}.
    const operation =
      ofMethod.find(({ path }) => path === request.operation.path) ??
      ofMethod.find(({ path }) => new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`).test(request.operation.path))
    const documented = operation?.responses[String(status)]
    if (!documented) {
      expect(statusesOfHttp, said).toContain(status)
      if (request.method !== 'HEAD') expect(type, said).toMatch(/^application\/(problem\+)?json$/)
      return
    }
    const types = Object.keys(documented.content ?? {})
    if (types.length === 0 || request.method === 'HEAD') return
    expect(types, said).toContain(type)
    const pointer = `/paths/${toPointer(operation.path)}/${request.method.toLowerCase()}/responses/${status}/content/${toPointer(type)}/schema`
    const validate = validator(pointer)
    const isValid = validate(type.endsWith('json') ? JSON.parse(text) : text)
    expect(isValid, `${said} ${JSON.stringify(validate.errors)}`).toBe(true)
  }
}
