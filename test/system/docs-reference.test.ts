import { execFile, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { symlink, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Document, writeReference } from '../../docs/.vitepress/reference.ts'
import { portugueseTexts, splitScope } from '../../docs/.vitepress/reference-portuguese.ts'
import { english } from '../../docs/.vitepress/reference-words.ts'
import { readSamples } from '../../docs/.vitepress/samples.ts'
import document from '../../docs/openapi.json' with { type: 'json' }
import { manualClock } from '../support/clock.ts'
import { dispute } from '../support/disputes.ts'
import { blocksOf } from '../support/documents.ts'
import { type Charged, charge, payAt, untilStatus } from '../support/payments.ts'
import { findPython } from '../support/python.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/webhooks.ts'
import { fund, requestWithdrawal, untilWithdrawal, withdraw } from '../support/withdrawals.ts'

/** The samples of the reference: one program per language runs all of them, in the order of the OpenAPI document. */

type Variables = Record<string, string>
type Part = { id: string; variables: Variables; text: string }
type Program = {
  file: string
  command: [program: string, ...flags: string[]]
  isInstalled?: boolean
  write: (setup: string, parts: Part[]) => string
}

const python = findPython('httpx')
const isInstalled = (...[program, ...flags]: [string, ...string[]]) =>
  spawnSync(program, flags, { stdio: 'ignore' }).status === 0

/** The columns that fit beside the table of contents on a screen of 1440 pixels. */
const columnsMax = 76

/** The X-Request-Id of the request that the program sends before a sample's own requests. */
const mark = (id: string) => `sample-${id}`
const upper = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()

const programs: Record<string, Program> = {
  curl: {
    file: 'samples.sh',
    command: ['bash', '--norc', 'samples.sh'],
    write: (setup, parts) => {
      const run = parts.map(({ id, variables, text }) => [
        ...Object.entries(variables).map(([name, value]) => `${upper(name)}='${value}'`),
        `curl -sS -o /dev/null -H 'X-Request-Id: ${mark(id)}' $BASE/health/live`,
        text,
      ])
      return ['set -euo pipefail', setup, ...run.flat()].join('\n')
    },
  },
  JavaScript: {
    file: 'samples.mjs',
    command: [process.execPath, 'samples.mjs'],
    write: (setup, parts) => {
      const run = parts.map(({ id, variables, text }) => [
        '{',
        ...Object.entries(variables).map(([name, value]) => `const ${name} = '${value}'`),
        `await fetch(baseUrl + '/health/live', { headers: { 'x-request-id': '${mark(id)}' } })`,
        `${text}}`,
      ])
      return [setup, ...run.flat()].join('\n')
    },
  },
  PHP: {
    file: 'samples.php',
    command: ['php', 'samples.php'],
    isInstalled: isInstalled('php', '-r', 'exit(extension_loaded("curl") && PHP_VERSION_ID >= 80100 ? 0 : 1);'),
    write: (setup, parts) => {
      const run = parts.map(({ id, variables, text }) => [
        ...Object.entries(variables).map(([name, value]) => `$${name} = '${value}';`),
        `$context = stream_context_create(['http' => ['header' => 'X-Request-Id: ${mark(id)}']]);`,
        `file_get_contents("$baseUrl/health/live", false, $context);`,
        text,
      ])
      return [setup, ...run.flat()].join('\n')
    },
  },
  Python: {
    file: 'samples.py',
    command: [python ?? 'python3', 'samples.py'],
    isInstalled: python !== null,
    write: (setup, parts) => {
      const run = parts.map(({ id, variables, text }) => [
        ...Object.entries(variables).map(([name, value]) => `${upper(name).toLowerCase()} = "${value}"`),
        `httpx.get(base_url + "/health/live", headers={"x-request-id": "${mark(id)}"})`,
        text,
      ])
      return [setup, ...run.flat()].join('\n')
    },
  },
  Go: {
    file: 'samples.go',
    command: ['go', 'run', 'samples.go'],
    isInstalled: isInstalled('go', 'version'),
    write: (setup, parts) => {
      const run = parts.map(({ id, variables, text }) => [
        '{',
        ...Object.entries(variables).map(([name, value]) => `${name.replace(/Id$/, 'ID')} := "${value}"`),
        `mark("${mark(id)}")`,
        `${text}}`,
      ])
      // The samples continue `main`.
      return [setup.replace(/\}\n$/, ''), ...run.flat(), '}', markInGo].join('\n')
    },
  },
}

const markInGo = `
func mark(id string) {
	request, err := http.NewRequest("GET", baseURL+"/health/live", nil)
	check(err)
	request.Header.Set("X-Request-Id", id)
	response, err := http.DefaultClient.Do(request)
	check(err)
	response.Body.Close()
}
`

const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { operationId }]) => ({
    id: operationId,
    route: `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
  })),
)
const samples = readSamples()

let service: TestService
let logged: Record<string, unknown>[] = []
beforeAll(async () => {
  service = await startTestService({
    clock: manualClock(new Date()),
    environment: { METRICS_TOKEN: 'of-the-metrics' },
    onLog: (line) => logged.push(line),
  })
  for (const name of ['node_modules', 'sdk-php']) await symlink(resolve(name), join(service.dataDir, name))
  await fund(service, 10_000_000)
})
/** Undoes what the samples changed, before those of the next language. */
afterEach(async () => {
  await service.call('/sandbox/personality', { body: { name: 'honest' } })
  const { body } = await service.call<{ data: { id: string }[] }>('/webhook-endpoint?perPage=100')
  for (const { id } of body.data) await service.call(`/webhook-endpoint/${id}`, { method: 'DELETE' })
})
afterAll(() => service.stop())

it('each operation has a sample in each language, and each sample an operation', () => {
  const titles = Object.keys(programs)
  const existing = [...samples].map(([id, own]) => [id, own.map(({ title }) => title)])
  expect(Object.fromEntries(existing)).toEqual(Object.fromEntries(routes.map(({ id }) => [id, titles])))
})

it('no sample is wider than its box in the guide', () => {
  const tooWide = [...samples].flatMap(([id, own]) =>
    own.flatMap(({ title, text }) =>
      text
        .split('\n')
        .filter((line) => line.replaceAll('\t', '    ').length > columnsMax)
        .map((line) => `${title}, ${id}: ${line}`),
    ),
  )
  expect(tooWide).toEqual([])
})

it('each text of the OpenAPI document is in Portuguese, and no other', () => {
  const used = new Set<string>()
  const pages = writeReference(document as unknown as Document, samples, {
    words: english,
    translate: (text) => {
      used.add(splitScope(text).about)
      return text
    },
  })
  expect(pages.size).toBe(9)
  expect(Object.keys(portugueseTexts).toSorted()).toEqual([...used].toSorted())
})

describe.each(Object.entries(programs))('the samples in %s', (language, program) => {
  it.skipIf(program.isInstalled === false)('do what they say', () => run(language, program))
})

async function run(language: string, { file, command, write }: Program): Promise<void> {
  const parts = await Promise.all(
    routes.map(async ({ id }): Promise<Part> => {
      const text = samples.get(id)?.find(({ title }) => title === language)?.text ?? ''
      return { id, text, variables: (await prepare[id]?.()) ?? {} }
    }),
  )
  const fence = samples.get('getBalance')?.find(({ title }) => title === language)?.fence
  const setup = blocksOf('docs/reference/index.md').find((block) => block.language === fence)?.text ?? ''
  const text = write(setup, parts)
    .replaceAll('http://127.0.0.1:3000', service.baseUrl)
    // The languages share a service, and an idempotency key belongs to one request.
    .replaceAll(/(?<=-2026-)0001/g, `000${Object.keys(programs).indexOf(language)}`)
  await writeFile(join(service.dataDir, file), text)
  logged = []
  const { clientId, clientSecret } = service.sandbox
  const [program, ...flags] = command
  const { stdout, stderr } = await promisify(execFile)(program, flags, {
    cwd: service.dataDir,
    maxBuffer: 16 * 1024 * 1024,
    env: {
      PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
      HOME: process.env.HOME,
      PYTHONPATH: resolve('sdk-python/src'),
      PYTHONDONTWRITEBYTECODE: '1',
      CLIENT_ID: clientId,
      CLIENT_SECRET: clientSecret,
      METRICS_TOKEN: 'of-the-metrics',
    },
  })
  expect(stderr).toBe('')
  expect(answersBySample()).toEqual(Object.fromEntries(routes.map(({ id, route }) => [id, `${route} succeeded`])))
  // JavaScript prints this for a field that the answer does not have.
  expect(stdout.split('\n').filter((line) => line.includes('undefined'))).toEqual([])
}

/** Of each sample, its last request and whether it succeeded. */
function answersBySample(): Record<string, string> {
  const answers: Record<string, string> = {}
  let current = ''
  for (const { requestId, method, route, status } of logged) {
    if (String(requestId).startsWith(mark(''))) current = String(requestId).slice(mark('').length)
    // The simulated bank sends callbacks, too.
    else if (current !== '' && typeof status === 'number' && !String(route).startsWith('/callbacks/'))
      answers[current] = `${method} ${route} ${status < 300 ? 'succeeded' : status}`
  }
  return answers
}

async function chargeOnce(): Promise<Charged> {
  return await charge(service, { amount: 2590 })
}

async function paid() {
  const { id, uri } = await chargeOnce()
  await payAt(service, uri)
  const { endToEnd = '' } = await untilStatus(service, id, 'PAID')
  return { id, endToEnd }
}

const pixKey = { key: 'maria@example.com', type: 'EMAIL' }

/** A withdrawal that repeats another and waits for confirmation: it has not been sent. */
async function repeatedWithdrawal(amount: number): Promise<Variables> {
  await withdraw(service, { amount, pixKey })
  const { body } = await requestWithdrawal(service, { amount, pixKey })
  expect(body.hold).toBe('duplicate')
  return { id: body.id }
}

async function endpoint(): Promise<Variables> {
  const { status, body, text } = await service.call<{ id: string }>('/webhook-endpoint', {
    body: { url: `https://loja.example/${randomUUID()}` },
  })
  expect(status, text).toBe(201)
  return { id: body.id }
}

async function event(): Promise<Variables> {
  const { id } = await charge(service, { webhookUrl: 'https://loja.example/webhooks/pix' })
  let eventId: string | undefined
  await eventually(async () => {
    const { body } = await service.call<{ data: { id: string }[] }>(`/transaction/${id}/event`)
    eventId = body.data[0]?.id
    return eventId !== undefined
  })
  return { eventId: eventId ?? '' }
}

async function paidOut(): Promise<string> {
  const id = await withdraw(service, { amount: 1_000 })
  await untilWithdrawal(service, id, 'PROCESSED')
  return id
}

/** Creates the records that a sample needs, and returns its variables. */
const prepare: Record<string, () => Promise<Variables>> = {
  refundTransaction: async () => ({ id: (await paid()).id }),
  cancelTransaction: async () => ({ id: (await chargeOnce()).id }),
  getTransaction: async () => ({ id: (await paid()).id }),
  listTransactionEvents: async () => ({ id: (await paid()).id }),
  getPaymentLink: async () => ({ id: (await chargeOnce()).id }),
  getWithdrawal: async () => ({ id: await withdraw(service) }),
  listWithdrawalEvents: async () => ({ id: await paidOut() }),
  cancelWithdrawal: () => repeatedWithdrawal(1_100),
  confirmWithdrawal: () => repeatedWithdrawal(1_200),
  resendDelivery: event,
  getEvent: event,
  getWebhookEndpoint: endpoint,
  updateWebhookEndpoint: endpoint,
  deleteWebhookEndpoint: endpoint,
  rotateWebhookEndpointSecret: endpoint,
  testWebhookEndpoint: endpoint,
  payInSandbox: async () => ({ uri: (await chargeOnce()).uri }),
  openSandboxDispute: async () => ({ endToEnd: (await paid()).endToEnd }),
  decideSandboxDispute: async () => ({ reference: await dispute(service, (await paid()).endToEnd) }),
  returnSandboxPayment: async () => ({ endToEnd: (await paid()).endToEnd }),
  returnSandboxWithdrawal: async () => ({ payoutId: await paidOut() }),
}
