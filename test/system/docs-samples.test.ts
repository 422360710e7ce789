import { execFile } from 'node:child_process'
import { copyFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readAcquirersFile } from '../../src/acquirers/settings.ts'
import { readConfig } from '../../src/config.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { manualClock } from '../support/clock.ts'
import { openCommandLine } from '../support/command-line.ts'
import { type Block, blocksOf, documents } from '../support/documents.ts'
import { makeFolder, makeTestCertificates } from '../support/https-psp.ts'
import { charge, payAt, untilStatus } from '../support/payments.ts'
import { startTestService, type TestService } from '../support/service.ts'

/** Samples that this test neither runs nor reads, by their beginning, with the reason. */
const untried: [document: string, beginning: string, why: string][] = [
  ['README.md', '0002010102', 'what a command printed, which another test looks at (readme-loop)'],
  ['README.md', '{"endToEndId"', 'the same'],
  ['README.md', 'transaction.pix_qrcode_generated', 'the same'],
  ['README.md', 'PAID\n', 'the same'],
  ['docs/architecture.md', 'request ─►', 'a drawing'],
  ['docs/architecture.md', 'src/ ', 'the folders; another test compares them with the real ones'],
  ['docs/backups.md', 'archive_mode = on', 'the test of backups archives with exactly these lines'],
  ['docs/backups.md', '[global]', 'the test of pgBackRest uses these settings and commands'],
  ['docs/backups.md', 'pgbackrest', 'the same'],
  ['docs/developer-commands.md', 'Forwarding the events', 'what a command printed; listen has a separate test'],
  ['docs/developer-commands.md', 'GUICHE_URL=', 'settings that each reader fills in'],
  ['docs/developer-commands.md', 'Service http', 'what a command printed; doctor has a separate test'],
  ['docs/event-feed.md', 'HTTP/1.1 200 OK', 'a shortened page; the feed has separate tests'],
  ['docs/going-live.md', 'curl -s -o /dev/null', 'uses the reader’s hosts; proxies have separate tests'],
  ['docs/installation.md', 'node --heap', 'the flags of npm start'],
  ['docs/high-availability.md', 'merchants, PSPs ─►', 'a drawing'],
  ['docs/high-availability.md', 'create role guiche', 'npm run test:ha does it'],
  ...['useradd', 'set -a', 'docker', 'mkdir', 'kubectl'].map((beginning): [string, string, string] => [
    'docs/installation.md',
    beginning,
    'needs root, a container runtime or a cluster; test/deploy has what can be tested without',
  ]),
  ['docs/php.md', 'mkdir minha-loja', 'the test of the PHP SDK follows this page in Portuguese'],
  ['docs/php.md', 'composer init', 'the same'],
  ['docs/php.md', 'php -S', 'the same'],
  ['docs/python.md', 'mkdir minha-loja', 'the test of the Python SDK follows this page in Portuguese'],
  ['docs/python.md', '.venv/bin/uvicorn', 'the same'],
  ['docs/payment-page.md', '<script', 'a browser test opens the link of pay-embed-example.html and calls Guiche.mount'],
  ['docs/operations.md', '[pgbouncer]', 'another program’s configuration'],
  ['docs/simulator.md', 'curl --cacert', 'leaves out the txid; mutual TLS has separate tests'],
  ['docs/upgrading.md', '-- Why: …', 'examples of migrations; the tests of migrations apply the same lines'],
  ['docs/webhooks.md', 'POST /webhooks/pix', 'a shortened delivery; deliveries have separate tests'],
]

const all = documents.flatMap(blocksOf)
const untriedReason = ({ document, text }: Block) =>
  untried.find(([where, beginning]) => where === document && text.startsWith(beginning))?.[2]
const lines = (block: Block) => block.text.replaceAll('\\\n', ' ').trim().split('\n')
const isCommands = (block: Block) =>
  block.language === '' && lines(block).every((line) => /^(?:\w+=\S+ )*(?:npx guiche|npm) /.test(line))

let service: TestService
let folder: string
const cleanups: (() => Promise<unknown>)[] = []
beforeAll(async () => {
  service = await startTestService({ clock: manualClock(new Date()) })
  folder = join(service.dataDir, 'shop')
  await mkdir(join(folder, 'data'), { recursive: true })
  await copyFile(join(service.dataDir, 'sandbox.json'), join(folder, 'data/sandbox.json'))
  await symlink(resolve('node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }')
})
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
  await service.stop()
})

it('no block is skipped without a reason, and no reason is unused', () => {
  // Other tests run the samples in ts, php, python and go.
  const kinds = ['sh', 'ts', 'php', 'python', 'go', 'js', 'json']
  const open = all.filter((block) => !kinds.includes(block.language) && !isCommands(block) && !untriedReason(block))
  // The tests below read these.
  const readBelow = ['HOST=127.0.0.1', 'OIDC_ISSUER=', 'RateLimit-Policy', '{"url":']
  expect(
    open
      .filter(({ text }) => !readBelow.some((beginning) => text.startsWith(beginning)))
      .map(({ document, line, text }) => `${document}:${line} ${text.slice(0, 40)}`),
  ).toEqual([])
  expect(
    untried.filter(([where, start]) => !all.some((one) => one.document === where && one.text.startsWith(start))),
  ).toEqual([])
  expect(readBelow.filter((beginning) => !open.some(({ text }) => text.startsWith(beginning)))).toEqual([])
})

it('the npm scripts in samples exist', async () => {
  const { scripts } = JSON.parse(await readFile('package.json', 'utf8')) as { scripts: Record<string, string> }
  const named = all.flatMap(({ text }) => [...text.matchAll(/npm (?:run (?:--silent )?([\w:-]+)|(start|test)\b)/g)])
  expect(named.length).toBeGreaterThan(4)
  expect(named.map(([, script, short]) => script ?? short).filter((name) => !scripts[name ?? ''])).toEqual([])
})

/** Documents with shell commands. A separate test runs those of the README, with its receiver. */
const shells = documents.filter(
  (document) => document !== 'README.md' && blocksOf(document).some((block) => isShell(block) && !untriedReason(block)),
)

describe('shell commands', () => {
  it.each(shells)('%s', async (document) => {
    const [token = ''] = blocksOf('docs/api.md')
      .filter(isShell)
      .map(({ text }) => text)
    const { id, uri } = await charge(service, { amount: 2590 })
    await payAt(service, uri)
    await untilStatus(service, id, 'PAID')
    const own = blocksOf(document).filter((block) => isShell(block) && !untriedReason(block) && block.text !== token)
    const script = ['set -euo pipefail', token, `ID=${id}`, ...own.map(({ text }) => text)]
      .join('\n')
      .replaceAll('http://127.0.0.1:3000', service.baseUrl)
    const { stdout, stderr } = await promisify(execFile)('bash', ['--norc', '-c', script], {
      cwd: folder,
      env: { PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
    })
    expect(stderr).toBe('')
    expect(stdout).not.toBe('')
    expect(stdout).not.toMatch(/guide\/errors.html|undefined/)
  })
})

function isShell({ language }: Block): boolean {
  return language === 'sh'
}

describe('settings', () => {
  const settings = all.filter(({ language, document }) => language === 'json' && document !== 'docs/errors.md')
  let files: Awaited<ReturnType<typeof makeFolder>>
  beforeAll(async () => {
    const { client } = await makeTestCertificates()
    files = await makeFolder({ 'client.pem': client.certificate, 'client.key': client.key })
    cleanups.push(files.remove)
  })

  /** A partial sample is put into the complete file of acquirers.md. */
  const complete = (text: string) => {
    const whole = JSON.parse(settings.find(({ document }) => document === 'docs/acquirers.md')?.text ?? '')
    const [efi] = whole.acquirers
    // A certificate that exists.
    efi.tls = { certFile: 'client.pem', keyFile: 'client.key' }
    const part = text.startsWith('{') ? {} : JSON.parse(`{ ${text} }`)
    if (part.callbacks) efi.callbacks = part.callbacks
    const others = ['bb', 'inter'].map((name) => ({ ...efi, name }))
    return { acquirers: [efi, ...(part.routes ? others : [])], ...(part.routes && { routes: part.routes }) }
  }

  it.each(settings.map(({ document, line, text }) => [`${document}:${line}`, text]))('%s', async (_, text) => {
    await files.write('acquirers.json', JSON.stringify(complete(text)))
    const read = readAcquirersFile({
      path: files.path('acquirers.json'),
      variable: (name) => (name === 'EFI_SECRET' ? 'secret' : undefined),
      clock: systemClock,
    })
    expect(read.acquirers[0]).toMatchObject({ name: 'efi', dialect: 'efi' })
  })

  const readVariables = ({ text }: Block): Record<string, string> =>
    Object.fromEntries(
      text
        .trim()
        .split('\n')
        .map((line) => line.split(/=(.*)/s).slice(0, 2)),
    )

  it('the settings of each identity provider in dashboard.md', () => {
    const blocks = all.filter(({ text }) => text.startsWith('OIDC_ISSUER='))
    expect(blocks).toHaveLength(4)
    for (const block of blocks) {
      const { OIDC_CLIENT_SECRET_FILE: _, ...set } = readVariables(block)
      const { oidc } = readConfig({ OIDC_CLIENT_ID: 'guiche', OIDC_CLIENT_SECRET: 'secret', ...set })
      expect(oidc?.rules.length).toBeGreaterThan(1)
    }
  })

  it('the environment of going-live.md', () => {
    const block = all.find(({ document, text }) => document === 'docs/going-live.md' && text.startsWith('HOST='))
    const set = block && readVariables(block)
    const config = readConfig({ ...set, SECRET_KEY: 'A'.repeat(43), METRICS_TOKEN: 'of-the-metrics' })
    expect(config).toMatchObject({ baseUrl: 'https://api.example.com', acquirersFile: resolve('acquirers.json') })
  })
})

it('the error in errors.md is the real one', async () => {
  const [shown] = blocksOf('docs/errors.md').filter(({ language }) => language === 'json')
  const expected = JSON.parse(shown?.text ?? '')
  const { body } = await service.call('/transaction', {
    method: 'POST',
    body: { amount: 2590, paymentMethod: 'PIX', pix: { expirationSeconds: 10 } },
  })
  expect(body).toEqual({
    ...expected,
    type: expected.type.replace('https://pix.example.com', service.baseUrl),
    requestId: expect.any(String),
  })
})

it('the limits in errors.md are those of a first request', async () => {
  const shown = blocksOf('docs/errors.md').find(({ text }) => text.startsWith('RateLimit-Policy'))
  const other = await startTestService({ environment: { RATE_LIMIT_CREATE: '100' } })
  cleanups.push(other.stop)
  const body = { amount: 2590, paymentMethod: 'PIX', pix: {} }
  const { headers } = await other.call('/transaction', { method: 'POST', body })
  expect(`RateLimit-Policy: ${headers.get('ratelimit-policy')}\nRateLimit: ${headers.get('ratelimit')}\n`).toBe(
    shown?.text,
  )
})

it('the link in payment-page.md has the form of a real one', async () => {
  const shown = blocksOf('docs/payment-page.md').find(({ text }) => text.startsWith('{"url"'))
  const { id } = await charge(service)
  const { body } = await service.call<{ url: string; expiresAt: string }>(`/transaction/${id}/payment-link`)
  const form = ({ url, expiresAt }: { url: string; expiresAt: string }) => [
    new URL(url).pathname.replaceAll(/[\w-]{43}/g, 'token'),
    new Date(expiresAt).toISOString() === expiresAt,
  ]
  expect(form(JSON.parse(shown?.text ?? ''))).toEqual(form(body))
})

it('the auditor’s commands verify a signed statement', async () => {
  const line = await openCommandLine({ connectionString: service.connectionString })
  cleanups.push(line.stop)
  const day = new Date(Date.now() - 36 * 60 * 60_000).toISOString().slice(0, 10)
  await line.read(['close', '--date', day, '--out', join(folder, 'statement.jws')])
  await writeFile(join(folder, 'keys.json'), (await line.run(['close', 'keys'])).stdout)
  const [sample] = blocksOf('docs/reconciliation.md').filter(({ language }) => language === 'js')
  await writeFile(join(folder, 'verify.js'), sample?.text ?? '')
  const { stdout } = await promisify(execFile)(process.execPath, ['verify.js'], { cwd: folder })
  expect(stdout).toContain(day)
  expect(all.filter(({ language }) => language === 'js')).toHaveLength(1)
})
