import { execFile, spawn, spawnSync } from 'node:child_process'
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestEvent, signWebhook } from '../../sdk/src/testing.ts'
import { createTestDatabase } from '../support/database.ts'
import { blocksOf } from '../support/documents.ts'
import { findFreePort, makeDataDir, startServiceProcess } from '../support/process.ts'

const run = promisify(execFile)
const runs = (program: string, ...args: string[]) => spawnSync(program, args).status === 0
const hasComposer = runs('composer', '--version', '--no-interaction')
/** Debian: php-cli php-curl, and for the rest phpunit and composer. */
const hasPhp = runs('php', '-r', 'exit(PHP_VERSION_ID >= 80100 && extension_loaded("curl") ? 0 : 1);')

describe.skipIf(!hasPhp)('the PHP SDK', () => {
  const cleanups: (() => Promise<unknown>)[] = []
  /** An empty folder of a shop. */
  let shop: string
  let environment: Record<string, string>

  beforeAll(async () => {
    const { dataDir, remove } = await makeDataDir()
    const database = await createTestDatabase()
    cleanups.push(remove, database.drop)
    const service = await startServiceProcess({
      dataDir,
      port: await findFreePort(),
      databaseUrl: database.connectionString,
    })
    cleanups.push(async () => {
      service.signal('SIGTERM')
      await service.ended
    })
    shop = join(dataDir, 'shop')
    await mkdir(join(shop, 'data'), { recursive: true })
    await copyFile(join(dataDir, 'sandbox.json'), join(shop, 'data/sandbox.json'))
    cleanups.push(async () => await rm(shop, { recursive: true, force: true }))
    const sandbox = JSON.parse(await readFile(join(dataDir, 'sandbox.json'), 'utf8'))
    environment = {
      PATH: process.env.PATH ?? '',
      HOME: shop,
      GUICHE_URL: service.baseUrl,
      GUICHE_CLIENT_ID: sandbox.clientId,
      GUICHE_CLIENT_SECRET: sandbox.clientSecret,
      GUICHE_WEBHOOK_SECRET: sandbox.webhookSecret,
    }
  })
  afterAll(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup()
  })

  const php = async (...args: string[]) =>
    await run('php', ['-d', 'error_reporting=-1', '-d', 'display_errors=stderr', ...args], {
      cwd: shop,
      env: environment,
    })

  it.skipIf(!runs('phpunit', '--version'))('passes its own tests', async () => {
    const { stdout } = await run('phpunit', [], { cwd: 'sdk-php' }).catch((error: { stdout: string }) => error)
    expect(stdout).toMatch(/\nOK[ ,]/)
  })

  it('charges, verifies webhooks, refunds and pays out, from an empty folder', async () => {
    const { stdout, stderr } = await php(resolve('test/sdk/shop/shop.php'), resolve('sdk-php/autoload.php'))
    expect([stdout.trim().split('\n'), stderr]).toEqual([
      [
        'created PIX_QRCODE_GENERATED 000201',
        'replayed the same',
        'webhook transaction.paid 90000 with id',
        'status PAID',
        'link here',
        'refund PROCESSING REFUNDED 590',
        'withdrawal PENDING PROCESSED 1500',
        'second duplicate CANCELED CANCELED',
        'third confirmed',
        'dispute REJECTED',
        'balance as in the statement',
        'then 0',
        'found 1',
        'by person 0 0',
        'listed CANCELED',
        ...['csv id', 'csv id', 'csv id'],
        'events of both',
        'event listed',
        'delivery listed sent again',
        'personality late honest honest',
        'invalid amount externalCode',
        'reused order-php-1-try-1',
        'missing not_found',
        'unknown client invalid_client',
        'refused webhooks 0',
      ],
      '',
    ])
  })

  it.skipIf(!hasComposer)('is installed by Composer as its README says', async () => {
    const [commands = ''] = blocksOf('sdk-php/README.md')
      .filter(({ language }) => language === '')
      .map(({ text }) => text.replace('../guiche/sdk-php', resolve('sdk-php')))
    // Only this test has no network.
    const script = commands.replace(/.*\n/, '$&composer config repositories.packagist.org false\n')
    await run('sh', ['-ec', script.replaceAll('composer ', 'composer -n ')], { cwd: shop, env: environment })
    expect(await readFile(join(shop, 'vendor/guiche/sdk/composer.json'), 'utf8')).toContain('"guiche/sdk"')
  })

  describe('its documentation', () => {
    const documents = ['sdk-php/README.md', 'docs/sdk.md']
    const samples = documents.flatMap(blocksOf).filter(({ language }) => language === 'php')

    it('is the same in Portuguese', () => {
      const blocks = (document: string) => blocksOf(document).map(({ text }) => text)
      expect(blocks('sdk-php/README.pt-BR.md')).toEqual(blocks('sdk-php/README.md'))
    })

    it.each(samples.map(({ document, line, text }) => [`${document}:${line}`, text]))('runs: %s', async (_, text) => {
      const file = join(shop, 'sample.php')
      await writeFile(file, withClient(text))
      if (text.includes('php://input')) await tryReceiver(file)
      else expect((await php(file)).stderr).toBe('')
    })

    it('prints what its first program says', async () => {
      await writeFile(join(shop, 'first.php'), withClient(samples[0]?.text ?? ''))
      expect((await php('first.php')).stdout).toBe('PAID R$ 25,90\n')
    })
  })

  /** The folder of a shop without Composer has the SDK's own autoloader. Later samples continue with the first client. */
  function withClient(text: string): string {
    const start = text.startsWith('<?php') ? text : `<?php\n\nrequire 'vendor/autoload.php';\n\n${text}`
    const client = `$guiche = new Guiche\\Guiche(getenv('GUICHE_URL'), getenv('GUICHE_CLIENT_ID'), getenv('GUICHE_CLIENT_SECRET'));\n`
    const whole =
      /\$guiche->/.test(text) && !text.includes('new Guiche(') ? start.replace(/require .*\n/, `$&${client}`) : start
    return whole.replace("'vendor/autoload.php'", `'${resolve('sdk-php/autoload.php')}'`)
  }

  /** A shop's script at a web server, which receives an event, and one from somebody else. */
  async function tryReceiver(file: string): Promise<void> {
    const port = await findFreePort()
    const server = spawn('php', ['-S', `127.0.0.1:${port}`, file], { cwd: shop, env: environment, stdio: 'pipe' })
    const ended = new Promise((done) => server.once('exit', done))
    let said = ''
    server.stderr.on('data', (chunk) => {
      said += String(chunk)
    })
    try {
      const send = async (secret: string) => {
        const event = createTestEvent('transaction.paid', { amount: 2590, externalCode: 'order-2026-0001' })
        const signed = await signWebhook(secret, event)
        return await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', ...signed }).then(
          ({ status }) => status,
          () => 0,
        )
      }
      await expect.poll(() => send(`whsec_${btoa('of somebody else')}`)).toBe(401)
      expect(await send(environment.GUICHE_WEBHOOK_SECRET ?? '')).toBe(204)
      await expect.poll(() => said).toContain('ship order-2026-0001 2590')
    } finally {
      server.kill()
      await ended
    }
  }
})
