import { execFile, spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { publint } from 'publint'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestEvent, signWebhook } from '../../sdk/src/testing.ts'
import { manualClock } from '../support/clock.ts'
import { documents } from '../support/documents.ts'
import { compileInShop, type PackedSdk, packSdk, readSamples } from '../support/packed-sdk.ts'
import { findFreePort } from '../support/process.ts'
import { isLong } from '../support/random.ts'
import { startTestService } from '../support/service.ts'

/** Only in `npm run test:long`, and with what `npm run clients` installs. */
const checksTypes = isLong && existsSync('tools/clients/node_modules')

/** Declares the names that the samples in comments use. */
const usedBySamples = `
import { type CreateWithdrawal, Guiche, GuicheError, verifyWebhook } from '@guiche/sdk'
import { createTestEvent, createWebhookReceiver, signWebhook } from '@guiche/sdk/testing'
declare const [guiche, withdrawal]: [Guiche, CreateWithdrawal]
declare const [id, clientId, clientSecret, secret]: string[] & [string, string, string, string]
declare function tryTomorrow(): void
declare function loadPosition(): Promise<string | null>
declare function savePosition(position: string): Promise<void>
declare function shipOnce(code: string | undefined, amount: number | undefined): Promise<void>
declare function POST(request: Request): Promise<Response>
`

let sdk: PackedSdk
const cleanups: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  sdk = await packSdk()
  cleanups.push(sdk.remove)
})
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup()
})

describe('the packed package', () => {
  it('has the program, its types, a README and the license, and nothing else', () => {
    const others = sdk.files.filter((file) => !/^dist\/(?:cjs\/)?(?:testing\/)?[a-z-]+\.(?:js|d\.ts)$/.test(file))
    expect(others).toEqual(['LICENSE', 'README.md', 'dist/cjs/package.json', 'package.json'])
    expect(sdk.files).toEqual(expect.arrayContaining(['dist/index.js', 'dist/index.d.ts', 'dist/testing.js']))
    expect(sdk.files.filter((file) => file.includes('test.'))).toEqual([])
  })

  it('passes publint', async () => {
    const { messages } = await publint({ pkgDir: sdk.folder, strict: true })
    expect(messages).toEqual([])
  })

  it.runIf(checksTypes)(
    'has types that are right for every module resolution, according to “Are the types wrong?”',
    async () => {
      const { stdout } = await promisify(execFile)(process.execPath, ['tools/clients/attw.mjs', sdk.tarball])
      expect(stdout).toBe('')
    },
  )

  it('is loaded by require as well', async () => {
    const program =
      "const { Guiche } = require('@guiche/sdk'); const { signWebhook } = require('@guiche/sdk/testing'); process.stdout.write(typeof Guiche + ' ' + typeof signWebhook)"
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=commonjs', '-e', program], {
      cwd: sdk.shop,
    })
    expect(stdout).toBe('function function')
  })

  it('links only to addresses that exist outside of the checkout', async () => {
    const readme = await readFile(join(sdk.folder, 'README.md'), 'utf8')
    expect([...readme.matchAll(/\]\((?!https?:|#)([^)]*)\)/g)].map(([, link]) => link)).toEqual([])
  })

  it('has samples in its comments that compile', async () => {
    const sources = ['sdk/src', 'sdk/src/testing'].flatMap((folder) =>
      readdirSync(folder).flatMap((name) => (/(?<!test)\.ts$/.test(name) ? join(folder, name) : [])),
    )
    const samples = sources.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/```ts\n(.*?)\* ```/gs)].map(([, text = '']) =>
        text.replace(/^ *\* ?/gm, '').replace(/^export /gm, ''),
      ),
    )
    expect(samples.length).toBeGreaterThan(10)
    // Each becomes the body of a function: it may declare a name that `usedBySamples` declares for the others.
    const bodies = samples.map((text, index) => `export async function sample${index}() {\n${text}\n}`)
    await writeFile(join(sdk.shop, 'comments.ts'), [usedBySamples, ...bodies].join('\n'))
    await compileInShop(sdk.shop, ['comments.ts'], 'node')
  })

  it('depends on nothing, and on Node only for the helpers of tests', async () => {
    const manifest = JSON.parse(await readFile(join(sdk.folder, 'package.json'), 'utf8'))
    expect(Object.keys(manifest)).not.toEqual(expect.arrayContaining([expect.stringMatching(/dependencies/i)]))
    const imported = [...(await readEntry('index.js')).matchAll(/\bfrom '([^.'][^']*)'|\b(?:process|Buffer)\b/g)]
    expect(imported.map(([found]) => found)).toEqual([])
    expect(await readEntry('testing.js')).toMatch(/from 'node:http'/)
  })

  it('is small: 9 kB compressed, without its comments', async () => {
    expect(gzipSync(await readEntry('index.js')).length).toBeLessThan(9_000)
  })

  it.each(['node', 'browser'] as const)('has types that compile with only those of a %s', async (platform) => {
    await cp('test/sdk/shop/types.ts', join(sdk.shop, 'types.ts'))
    await compileInShop(sdk.shop, ['types.ts'], platform)
  })

  it('declares nothing that compilers before TypeScript 5.7 reject', async () => {
    for (const entry of ['index.d.ts', 'testing.d.ts']) {
      const declared = await readEntry(entry)
      expect(declared).toContain('WebhookEvent')
      expect(declared).not.toMatch(/Uint8Array</)
    }
  })

  it('fails to compile if its types are wrong', async () => {
    await writeFile(join(sdk.shop, 'wrong.ts'), "import { Guiche } from '@guiche/sdk'\nnew Guiche({ baseUrl: '' })\n")
    await expect(compileInShop(sdk.shop, ['wrong.ts'])).rejects.toThrow(/wrong\.ts\(2/)
  })
})

/** An entry point with all its imports, without comments. */
async function readEntry(name: string, read = new Set<string>()): Promise<string> {
  if (read.has(name)) return ''
  read.add(name)
  const source = (await readFile(join(sdk.folder, 'dist', name), 'utf8')).replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
  const others = [...source.matchAll(/from '(\.[^']+)'/g)].map(([, other = '']) => join(dirname(name), other))
  const texts = [source]
  for (const other of others) texts.push(await readEntry(other.replace(/(?<!\.d)\.ts$/, '.d.ts'), read))
  return texts.join('\n')
}

describe('its documentation', async () => {
  const samples = (
    await Promise.all(
      ['sdk/README.md', ...documents.filter((document) => document !== 'sdk/README.md')].map(async (document) =>
        (await readSamples(document)).map((text, index) => ({ name: `${document}, ${index + 1}`, text })),
      ),
    )
  ).flat()

  let environment: Record<string, string>
  let secret: string

  beforeAll(async () => {
    const service = await startTestService({ clock: manualClock(new Date()) })
    cleanups.push(service.stop)
    const { sandbox } = service
    await mkdir(join(sdk.shop, 'data'))
    await cp(join(service.dataDir, 'sandbox.json'), join(sdk.shop, 'data/sandbox.json'))
    secret = sandbox.webhookSecret
    environment = {
      PATH: process.env.PATH ?? '',
      GUICHE_URL: service.baseUrl,
      GUICHE_CLIENT_ID: sandbox.clientId,
      GUICHE_CLIENT_SECRET: sandbox.clientSecret,
      GUICHE_WEBHOOK_SECRET: secret,
    }
    for (const [index, { text }] of samples.entries())
      await writeFile(join(sdk.shop, `sample-${index}.ts`), withClient(text))
    await compileInShop(
      sdk.shop,
      samples.map((_, index) => `sample-${index}.ts`),
    )
  })

  const run = async (file: string) =>
    await promisify(execFile)(process.execPath, [file], { cwd: sdk.shop, env: environment })

  it('needs ten lines from an empty folder to a verified payment', async () => {
    const lines = samples[0]?.text.split('\n').filter((line) => line.trim() !== '') ?? []
    expect(lines.length).toBeLessThanOrEqual(10)
    expect((await run('sample-0.js')).stdout).toBe('PAID R$ 25,90\n')
  })

  it.each(samples.map(({ name, text }, index) => [name, text, index] as const))(
    'runs unchanged: %s',
    async (_, text, index) => {
      if (text.includes('export async function POST')) await tryRoute(`sample-${index}.js`)
      else if (text.includes('server.listen(')) await tryServer(index, text)
      else if (text.includes('events.follow(')) await tryFollower(`sample-${index}.js`)
      else expect((await run(`sample-${index}.js`)).stderr).toBe('')
    },
  )

  /** A route of a shop, called like a framework does. */
  async function tryRoute(file: string): Promise<void> {
    const signed = [
      await signWebhook(secret, createTestEvent('transaction.paid', { externalCode: 'order-2026-0001' })),
      await signWebhook(secret, createTestEvent('transaction.paid', { externalCode: 'order-2026-0001', sequence: 9 })),
      await signWebhook(`whsec_${btoa('of somebody else')}`, createTestEvent('transaction.paid')),
    ]
    await writeFile(
      join(sdk.shop, 'call.js'),
      `import { POST } from './${file}'
       for (const { headers, body } of ${JSON.stringify(signed)})
         process.stdout.write((await POST(new Request('http://127.0.0.1/', { method: 'POST', headers, body }))).status + '\\n')`,
    )
    expect((await run('call.js')).stdout).toBe('ship order-2026-0001 2590\n204\n204\n401\n')
  }

  /** A program that follows events for ever, until it has saved the position of the first. */
  async function tryFollower(file: string): Promise<void> {
    const follower = spawn(process.execPath, [file], { cwd: sdk.shop, env: environment, stdio: 'ignore' })
    const ended = new Promise((done) => follower.once('exit', done))
    try {
      await expect.poll(() => readFile(join(sdk.shop, 'shop.json'), 'utf8').catch(() => '')).toMatch(/"position":"\d+-/)
    } finally {
      follower.kill()
      await ended
    }
  }

  /** A shop's server, which receives an event from somebody else, one event twice, and one of the same order again. */
  async function tryServer(index: number, text: string): Promise<void> {
    const port = await findFreePort()
    const file = join(sdk.shop, `sample-${index}.js`)
    expect(text).toContain('server.listen(4000)')
    await writeFile(file, (await readFile(file, 'utf8')).replace('listen(4000)', `listen(${port})`))
    const server = spawn(process.execPath, [file], {
      cwd: sdk.shop,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended = new Promise((done) => server.once('exit', done))
    let said = ''
    for (const stream of [server.stdout, server.stderr])
      stream.on('data', (chunk) => {
        said += String(chunk)
      })
    try {
      const paid = (sequence: number) =>
        createTestEvent('transaction.paid', { externalCode: 'order-2026-0001', amount: 2590, sequence })
      const send = async (signedWith: string, event = paid(2)) =>
        (
          await fetch(`http://127.0.0.1:${port}/`, {
            method: 'POST',
            ...(await signWebhook(signedWith, event)),
          })
        ).status
      await expect.poll(() => send(`whsec_${btoa('of somebody else')}`).catch(() => 0)).toBe(401)
      const event = paid(2)
      expect([await send(secret, event), await send(secret, event), await send(secret, paid(4))]).toEqual([
        204, 204, 204,
      ])
      await expect.poll(() => said).toBe('ship order-2026-0001 2590\n')
    } finally {
      server.kill()
      await ended
    }
  }
})

/** A later sample continues with the client of the first. */
function withClient(text: string): string {
  if (!/\bguiche\./.test(text) || text.includes('new Guiche(')) return text
  return `import { Guiche } from '@guiche/sdk'
    const guiche = new Guiche({
      baseUrl: process.env.GUICHE_URL ?? '',
      clientId: process.env.GUICHE_CLIENT_ID ?? '',
      clientSecret: process.env.GUICHE_CLIENT_SECRET ?? '',
    })
    ${text}`
}
