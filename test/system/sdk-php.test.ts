import { execFile, spawn, spawnSync } from 'node:child_process'
import { copyFile, cp, lstat, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Guiche } from '../../sdk/src/index.ts'
import { createTestEvent, signWebhook } from '../../sdk/src/testing.ts'
import { createTestDatabase } from '../support/database.ts'
import { type Block, blocksOf, withoutComments } from '../support/documents.ts'
import { refundInPart, untilPaidAgain } from '../support/payments.ts'
import { findFreePort, makeDataDir, startServiceProcess } from '../support/process.ts'
import { eventually } from '../support/webhooks.ts'

const run = promisify(execFile)
const runs = (program: string, ...args: string[]) => spawnSync(program, args).status === 0
const isPhp = ({ language }: Block) => language === 'php'
const hasComposer = runs('composer', '--version', '--no-interaction')
/** Debian: php-cli php-curl, and for the rest phpunit and composer. */
const hasPhp = runs('php', '-r', 'exit(PHP_VERSION_ID >= 80100 && extension_loaded("curl") ? 0 : 1);')

describe.skipIf(!hasPhp)('the PHP SDK', () => {
  const cleanups: (() => Promise<unknown>)[] = []
  /** An empty folder of a shop. */
  let shop: string
  let environment: Record<string, string>
  let guiche: Guiche

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
    await mkdir(shop)
    await copyFile(join(dataDir, 'sandbox.json'), join(shop, 'sandbox.json'))
    cleanups.push(async () => await rm(shop, { recursive: true, force: true }))
    const sandbox = JSON.parse(await readFile(join(dataDir, 'sandbox.json'), 'utf8'))
    guiche = new Guiche(sandbox)
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
        'fetched transaction.paid',
        'followed transaction.paid 90000 and more',
        'delivery listed sent again',
        'personality late honest honest',
        'clock 60',
        'invalid amount externalCode',
        'reused order-php-1-try-1',
        'missing not_found',
        'not sent to not_found',
        'unknown client invalid_client',
        'refused webhooks 0',
      ],
      '',
    ])
  })

  it.skipIf(!hasComposer)('is installed by Composer as its README says', async () => {
    const [install = '', copy = ''] = blocksOf('sdk-php/README.md')
      .filter(({ language }) => language === '')
      .map(({ text }) => text)
    const project = await makeProject('composer')
    await runComposer(install + copy, project)
    expect(await readFile(join(project, 'vendor/guiche/sdk/composer.json'), 'utf8')).toContain('"guiche/sdk"')
    await writeFile(join(project, 'first.php'), blocksOf('sdk-php/README.md').find(isPhp)?.text ?? '')
    expect((await run('php', ['first.php'], { cwd: project })).stdout).toBe('PAID R$ 25,90\n')
    // The project is published without the folder of Guichê.
    expect((await lstat(join(project, 'vendor/guiche/sdk'))).isSymbolicLink()).toBe(false)
  })

  describe('its documentation', () => {
    const documents = ['sdk-php/README.md', 'docs/sdk.md']
    const samples = documents.flatMap(blocksOf).filter(isPhp)

    it('is the same in Portuguese', () => {
      const blocks = (document: string) => blocksOf(document).map(({ text }) => withoutComments(text))
      expect(blocks('sdk-php/README.pt-BR.md')).toEqual(blocks('sdk-php/README.md'))
    })

    it.each(samples.map(({ document, line, text }) => [`${document}:${line}`, text]))('runs: %s', async (_, text) => {
      const file = join(shop, 'sample.php')
      await writeFile(file, withClient(text))
      if (text.includes('php://input')) await tryReceiver(file)
      else expect((await php(file)).stderr).toBe('')
    })
  })

  describe('the example shop', () => {
    let url: string
    let said: () => string
    const post = async (path: string, init = {}) =>
      await fetch(url + path, { method: 'POST', redirect: 'manual', ...init })
    const isPaid = async (order: string) => (await (await fetch(`${url}${order}/status`)).text()) === '{"isPaid":true}'

    beforeAll(async () => {
      const server = await startWebServer(resolve('examples/php/index.php'))
      cleanups.push(server.stop)
      url = server.url
      said = server.said
    })

    const order = async () => {
      const path = (await post('/orders')).headers.get('location') ?? ''
      const page = await (await fetch(url + path)).text()
      expect(page).toContain('Pague R$ 25,90 com Pix')
      expect(page).toMatch(/src="data:image\/png;base64,[\w+/=]{100,}"/)
      const [, paymentUrl = ''] = /href="([^"]*\/pay\/[^"]+)"/.exec(page) ?? []
      expect(await (await fetch(paymentUrl)).text()).toContain(`href="${url}${path}`)
      return { path, externalCode: `pedido-${path.split('/').pop()}`, uri: /value="(000201[^"]+)"/.exec(page)?.[1] }
    }

    it('is paid by a webhook, and ships once', async () => {
      const { path, externalCode } = await order()
      expect(await isPaid(path)).toBe(false)
      expect((await post(`${path}/sandbox-payment`)).status).toBe(303)
      await expect.poll(() => isPaid(path)).toBe(true)
      expect(await (await fetch(url + path)).text()).toContain('Recebemos R$ 25,90')

      const shipments = () => said().match(new RegExp(`ship ${path.split('/').pop()}`, 'g')) ?? []
      await expect.poll(shipments).toHaveLength(1)
      const [transaction] = await guiche.transactions.list({ externalCode }).all()
      await refundInPart(guiche, transaction?.id ?? '')
      expect(shipments()).toHaveLength(1)
      expect(await isPaid(path)).toBe(true)
    })

    it('charges an order once, and is not paid by another amount, another order or somebody else', async () => {
      const { path, externalCode, uri } = await order()
      expect(await (await fetch(url + path)).text()).toContain(uri)
      const [transaction, ...others] = await guiche.transactions.list({ externalCode }).all()
      expect(others).toEqual([])
      const send = async (data: object, secret = environment.GUICHE_WEBHOOK_SECRET ?? '') =>
        (await post('/webhooks/pix', await signWebhook(secret, createTestEvent('transaction.paid', data)))).status
      const paid = { id: transaction?.id ?? '', externalCode, amount: 2590 }
      expect(await send({ ...paid, amount: 2589 })).toBe(204)
      expect(await send({ ...paid, sequence: 9, id: crypto.randomUUID() })).toBe(204)
      expect(await send({ ...paid, sequence: 9, externalCode: 'pedido-0000000000000000' })).toBe(204)
      expect(await send({ ...paid, sequence: 9 }, `whsec_${btoa('of somebody else')}`)).toBe(401)
      // Ignored: the first of these events has the same sequence, and was applied.
      expect(await send(paid)).toBe(204)
      expect(await isPaid(path)).toBe(false)
      expect(await send({ ...paid, sequence: 9 })).toBe(204)
      expect(await isPaid(path)).toBe(true)
    })
  })

  it('leads from an empty folder to a paid order, as docs/pt/php.md says', async () => {
    const parent = await makeProject('quick-start')
    const mine = join(parent, 'minha-loja')
    const blocks = blocksOf('docs/pt/php.md')
    const [commands = ''] = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text)
    const [pay = '', webhook = '', order = '', refund = '', failing = ''] = blocks.filter(isPhp).map(({ text }) => text)
    await run('sh', ['-ec', commands.replaceAll('../guiche/', '../../guiche/')], { cwd: parent })
    if (hasComposer) {
      await runComposer(blocks.find(({ text }) => text.startsWith('composer'))?.text ?? '', mine)
      await writeFile(join(mine, 'pagar.php'), pay.replace('sdk-php/autoload.php', 'vendor/autoload.php'))
      expect((await run('php', ['pagar.php'], { cwd: mine })).stdout).toContain('PAID')
    }
    await writeFile(join(mine, 'pagar.php'), pay)
    await writeFile(join(mine, 'webhook.php'), webhook)
    const inShop = { cwd: mine, env: environment }
    expect((await run('php', ['pagar.php'], inShop)).stdout).toMatch(/^000201.*\nPAID R\$ 25,90\n$/)

    const server = await startWebServer('webhook.php', mine)
    try {
      await writeFile(join(mine, 'pedido.php'), order.replace('http://127.0.0.1:8000', server.url))
      const id = (await run('php', ['pedido.php'], inShop)).stdout.trim()
      await expect.poll(server.said).toContain('enviar pedido-0002 2590')
      expect((await run('php', ['pedido.php'], inShop)).stdout).toBe('pedido-0002 já está pago\n')

      await writeFile(join(mine, 'devolver.php'), refund)
      expect((await run('php', ['devolver.php', id], inShop)).stdout).toBe('PROCESSING\n')
      await untilPaidAgain(guiche, id)
    } finally {
      await server.stop()
    }
    expect(server.said().match(/enviar/g)).toHaveLength(1)
    await writeFile(join(mine, 'erro.php'), failing)
    expect((await run('php', ['erro.php'], inShop)).stdout).toMatch(/^validation_failed\n.*amount.*cents/)
  })

  /** Makes an empty folder, beside a folder `guiche` that has the SDK and the credentials of the sandbox. */
  async function makeProject(name: string): Promise<string> {
    await mkdir(join(shop, 'guiche/data'), { recursive: true })
    await cp('sdk-php', join(shop, 'guiche/sdk-php'), { recursive: true })
    await copyFile(join(shop, 'sandbox.json'), join(shop, 'guiche/data/sandbox.json'))
    await mkdir(join(shop, name))
    return join(shop, name)
  }

  /** Runs Composer without Packagist, because this test has no network. */
  async function runComposer(commands: string, cwd: string): Promise<void> {
    const script = commands.replace(/.*\n/, '$&composer config repositories.packagist.org false\n')
    await run('sh', ['-ec', script.replaceAll('composer ', 'composer -n ')], { cwd, env: environment })
  }

  /** A sample that can run: with the SDK's own autoloader, and with a client if it uses that of an earlier sample. */
  function withClient(text: string): string {
    const start = text.startsWith('<?php') ? text : `<?php\n\nrequire 'vendor/autoload.php';\n\n${text}`
    const client = `$guiche = new Guiche\\Guiche(getenv('GUICHE_URL'), getenv('GUICHE_CLIENT_ID'), getenv('GUICHE_CLIENT_SECRET'));\n`
    const whole =
      /\$guiche->/.test(text) && !text.includes('new Guiche(') ? start.replace(/require .*\n/, `$&${client}`) : start
    return whole.replace("'vendor/autoload.php'", `'${resolve('sdk-php/autoload.php')}'`)
  }

  /** A shop's script at a web server, which receives an event from somebody else, and two of one order. */
  async function tryReceiver(file: string): Promise<void> {
    const server = await startWebServer(file)
    try {
      const order = { amount: 2590, externalCode: 'order-2026-0001' }
      await mkdir(join(shop, 'orders'), { recursive: true })
      await writeFile(join(shop, `orders/${order.externalCode}.open`), '2590')
      const send = async (secret: string, sequence = 2) => {
        const event = createTestEvent('transaction.paid', { ...order, sequence })
        return (await fetch(server.url, { method: 'POST', ...(await signWebhook(secret, event)) })).status
      }
      expect(await send(`whsec_${btoa('of somebody else')}`)).toBe(401)
      expect(await send(environment.GUICHE_WEBHOOK_SECRET ?? '')).toBe(204)
      await expect.poll(server.said).toContain('ship order-2026-0001 2590')
      expect(await send(environment.GUICHE_WEBHOOK_SECRET ?? '', 4)).toBe(204)
    } finally {
      await server.stop()
    }
    expect(server.said().match(/ship/g)).toHaveLength(1)
  }

  async function startWebServer(file: string, cwd = shop) {
    const url = `http://127.0.0.1:${await findFreePort()}`
    const server = spawn('php', ['-S', url.replace('http://', ''), file], {
      cwd,
      env: { ...environment, SHOP_DATA: join(shop, 'orders') },
      stdio: 'pipe',
    })
    const ended = new Promise((done) => server.once('close', done))
    let said = ''
    server.stderr.on('data', (chunk) => {
      said += String(chunk)
    })
    const answers = async () => (await fetch(url).catch(() => null)) !== null
    await eventually(answers, () => said)
    return {
      url,
      said: () => said,
      stop: async () => {
        server.kill()
        await ended
      },
    }
  }
})
