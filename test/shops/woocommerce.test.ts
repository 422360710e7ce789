import { execFile, spawn, spawnSync } from 'node:child_process'
import { cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Guiche } from '../../sdk/src/index.ts'
import { createTestEvent, signWebhook } from '../../sdk/src/testing.ts'
import { createTestDatabase } from '../support/database.ts'
import { refundInPart } from '../support/payments.ts'
import { findFreePort, makeDataDir, startServiceProcess } from '../support/process.ts'
import { eventually } from '../support/webhooks.ts'

/**
 * A real WordPress with a real WooCommerce: `GUICHE_WORDPRESS` is a folder of WordPress that has WooCommerce among its
 * plugins. It is copied, and installed into a MariaDB of the test (Debian: php-cli php-curl php-mysql php-intl php-gd
 * mariadb-server).
 */
const wordpress = process.env.GUICHE_WORDPRESS ?? ''
const hasPrograms = ['php', 'mariadbd', 'mariadb-install-db'].every((name) => spawnSync('which', [name]).status === 0)

const run = promisify(execFile)

type Order = {
  status: string
  transactionId: string
  refunded: string
  refunds: number
  uri: string
  transactions: string[]
  payUrl: string
  notes: string[]
}

type Checkout = { order_id: number; status: string; payment_result: { redirect_url: string } }

describe.skipIf(wordpress === '' || !hasPrograms)('the plugin for WooCommerce, in a real one', () => {
  const cleanups: (() => Promise<unknown>)[] = []
  let guiche: Guiche
  let secret: string
  let site: string
  let shopUrl: string
  let product: number

  const command = async <Result>(action: string, ...values: string[]): Promise<Result> => {
    const args = [resolve('test/shops/wordpress/command.php'), site, action, ...values]
    const env = { PATH: process.env.PATH, SHOP_URL: shopUrl }
    const { stdout } = await run('php', args, { env }).catch(async (error) => {
      const log = await readFile(join(site, 'wp-content/debug.log'), 'utf8').catch(() => '')
      throw new Error(`${error.message}\n${error.stdout}\n${log}`)
    })
    return JSON.parse(stdout)
  }
  const find = async (id: number) => await command<Order>('order', String(id))
  const untilOrder = async (id: number, fits: (order: Order) => boolean) => {
    let last: Order | undefined
    await eventually(
      async () => {
        last = await find(id)
        return fits(last)
      },
      () => JSON.stringify(last),
    )
    return last as Order
  }
  const count = ({ notes }: Order, text: string) => notes.filter((note) => note.includes(text)).length
  /** Guichê carries out the next requests to this path, and the shop gets no answer. */
  const loseAnswers = async (path: string, times: number) =>
    await writeFile(join(site, 'wp-content/lost.txt'), `${path} ${times}`)

  beforeAll(async () => {
    const { dataDir, remove } = await makeDataDir()
    cleanups.push(remove)
    const database = await createTestDatabase()
    cleanups.push(database.drop)
    const service = await startServiceProcess({
      dataDir,
      port: await findFreePort(),
      databaseUrl: database.connectionString,
    })
    cleanups.push(async () => {
      service.signal('SIGTERM')
      await service.ended
    })
    const sandbox = JSON.parse(await readFile(join(dataDir, 'sandbox.json'), 'utf8'))
    guiche = new Guiche({ ...sandbox, baseUrl: service.baseUrl })
    secret = sandbox.webhookSecret
    shopUrl = `http://127.0.0.1:${await findFreePort()}`
    site = join(dataDir, 'site')
    await installShop(dataDir, {
      woocommerce_currency: 'BRL',
      woocommerce_default_country: 'BR:SP',
      woocommerce_coming_soon: 'no',
      woocommerce_custom_orders_table_enabled: 'yes',
      permalink_structure: '/%postname%/',
      woocommerce_guiche_pix_settings: {
        enabled: 'yes',
        title: 'Pix',
        description: 'Pague no app do seu banco.',
        base_url: service.baseUrl,
        client_id: sandbox.clientId,
        client_secret: sandbox.clientSecret,
        webhook_secret: secret,
        expiration_minutes: '30',
      },
    })
    expect(await command('storage')).toBe(true)
  })
  afterAll(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup()
  })

  async function installShop(folder: string, options: object): Promise<void> {
    await cp(wordpress, site, { recursive: true, dereference: true })
    await rm(join(site, 'wp-content/db.php'), { force: true })
    await mkdir(join(site, 'wp-content/mu-plugins'), { recursive: true })
    await cp('test/shops/wordpress/mu-plugin.php', join(site, 'wp-content/mu-plugins/test.php'))
    // As an upload of the packaged plugin does.
    const archive = join(folder, 'guiche-for-woocommerce.zip')
    await run('php', ['plugins/woocommerce/package.php', archive])
    const unpack = `(new PharData(${JSON.stringify(archive)}))->extractTo(${JSON.stringify(join(site, 'wp-content/plugins'))});`
    await run('php', ['-r', unpack])
    const port = await startMariadb(join(folder, 'mariadb'))
    const keys = ['AUTH_KEY', 'SECURE_AUTH_KEY', 'LOGGED_IN_KEY', 'NONCE_KEY', 'AUTH_SALT', 'SECURE_AUTH_SALT']
    const settings = {
      ...Object.fromEntries([...keys, 'LOGGED_IN_SALT', 'NONCE_SALT'].map((name) => [name, `of the test: ${name}`])),
      ...{ DB_NAME: 'test', DB_USER: 'shop', DB_PASSWORD: 'shop', DB_HOST: `127.0.0.1:${port}` },
      ...{ WP_HOME: shopUrl, WP_SITEURL: shopUrl, WP_DEBUG_LOG: join(site, 'wp-content/debug.log') },
    }
    const lines = Object.entries(settings).map(([name, value]) => `define('${name}', '${value}');`)
    await writeFile(
      join(site, 'wp-config.php'),
      `<?php\n${lines.join('\n')}
      foreach (['WP_DEBUG', 'DISABLE_WP_CRON', 'AUTOMATIC_UPDATER_DISABLED'] as $name) define($name, true);
      define('WP_DEBUG_DISPLAY', false);
      $table_prefix = 'wp_';
      defined('ABSPATH') || define('ABSPATH', __DIR__ . '/');
      require_once ABSPATH . 'wp-settings.php';\n`,
    )
    await command('install')
    expect(await command('activate')).toEqual([true, true])
    const made = await command<{ product: number; version: string; wordpress: string }>(
      'setUp',
      JSON.stringify(options),
    )
    product = made.product
    process.stdout.write(`WordPress ${made.wordpress}, WooCommerce ${made.version}\n`)
    const server = spawn('php', ['-S', shopUrl.slice(7), '-t', site, resolve('test/shops/wordpress/router.php')], {
      env: { PATH: process.env.PATH, PHP_CLI_SERVER_WORKERS: '4' },
      stdio: 'ignore',
      detached: true,
    })
    // Its workers are its children: the group ends them all.
    cleanups.push(async () => void (server.pid && process.kill(-server.pid)))
    await eventually(async () => (await fetch(`${shopUrl}/shop/`).catch(() => null))?.status === 200)
  }

  async function startMariadb(folder: string): Promise<number> {
    const port = await findFreePort()
    await mkdir(folder)
    const user = spawnSync('id', ['-un']).stdout.toString().trim()
    const options = ['--no-defaults', `--datadir=${folder}`, `--user=${user}`]
    await run('mariadb-install-db', [...options, '--auth-root-authentication-method=normal', '--skip-test-db'])
    const start = join(folder, 'start.sql')
    // One statement a line.
    const statements = ['create database test', "create user shop@'127.0.0.1' identified by 'shop'"]
    const grant = "grant all on test.* to shop@'127.0.0.1'"
    await writeFile(start, [...statements, grant].map((one) => `${one};\n`).join(''))
    const socket = [`--socket=${join(folder, 'socket')}`, `--port=${port}`, '--bind-address=127.0.0.1']
    const server = spawn('mariadbd', [...options, ...socket, `--init-file=${start}`, '--skip-name-resolve'], {
      stdio: 'ignore',
    })
    const ended = new Promise((done) => server.once('exit', done))
    cleanups.push(async () => {
      server.kill()
      await ended
    })
    const connects = `exit(@mysqli_connect('127.0.0.1', 'shop', 'shop', 'test', ${port}) ? 0 : 1);`
    await eventually(() => spawnSync('php', ['-r', `mysqli_report(MYSQLI_REPORT_OFF); ${connects}`]).status === 0)
    return port
  }

  /** A customer's session at the shop, with its cookies. `store` calls the API of the checkout block. */
  function visit() {
    const cookies = new Map<string, string>()
    let nonce = ''
    const call = async (path: string, init: RequestInit = {}) => {
      const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
      const headers = { 'content-type': 'application/json', cookie, nonce, ...init.headers }
      const answer = await fetch(shopUrl + path, { redirect: 'manual', ...init, headers })
      for (const one of answer.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(one) ?? []
        cookies.set(name, value)
      }
      nonce = answer.headers.get('nonce') ?? nonce
      return answer
    }
    const store = async (path: string, body?: object) => {
      const init = body && { method: 'POST', body: JSON.stringify(body) }
      const answer = await call(`/?rest_route=/wc/store/v1${path}`, init)
      return { status: answer.status, body: (await answer.json()) as Checkout }
    }
    return { call, store }
  }

  const address = {
    ...{ first_name: 'Maria', last_name: 'da Silva', address_1: 'Rua A, 1', city: 'São Paulo', state: 'SP' },
    ...{ postcode: '01310-100', country: 'BR', email: 'maria@example.com', phone: '11987654321' },
  }

  const pathOf = (url: string) => url.replace(shopUrl, '')
  const asForm = (fields: Record<string, string>) => ({
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: String(new URLSearchParams(fields)),
  })

  async function fillCart() {
    const customer = visit()
    await customer.store('/cart')
    expect((await customer.store('/cart/add-item', { id: product, quantity: 1 })).status).toBe(201)
    const checkOut = async () =>
      await customer.store('/checkout', { billing_address: address, payment_method: 'guiche_pix', payment_data: [] })
    return { ...customer, checkOut }
  }

  async function buy() {
    const { checkOut } = await fillCart()
    const { status, body } = await checkOut()
    expect([status, body.status]).toEqual([200, 'on-hold'])
    return { id: body.order_id, ...(await find(body.order_id)), page: body.payment_result.redirect_url }
  }

  async function buyAndPay() {
    const order = await buy()
    await guiche.sandbox.pay({ uri: order.uri })
    const paid = await untilOrder(order.id, ({ status }) => status !== 'on-hold')
    return { ...order, ...paid, transaction: paid.transactions[0] ?? '' }
  }

  it('shows the code on the thank-you page and in the e-mail, and a webhook pays the order', async () => {
    const order = await buy()
    const page = await (await fetch(order.page)).text()
    expect(page).toContain(`value="${order.uri}"`)
    expect(page).toMatch(/<section class="guiche-pix"[\s\S]*src="data:image\/png;base64,/)
    const [, statusUrl = ''] = /data-status-url="([^"]+)"/.exec(page) ?? []
    const mails = await readFile(join(site, 'wp-content/mails.txt'), 'utf8')
    expect(mails).toContain(order.uri)
    const [, image = ''] = /<img src="([^"]+guiche_pix_qr[^"]+)"/.exec(mails) ?? []
    const decode = (url: string) => url.replaceAll(/&(?:amp|#038);/g, '&')
    expect((await fetch(decode(image))).headers.get('content-type')).toBe('image/png')
    expect((await fetch(decode(image).replace(/key=.*/, 'key=wrong'))).status).toBe(404)
    expect(await (await fetch(decode(statusUrl))).json()).toEqual({ status: 'waiting' })

    await guiche.sandbox.pay({ uri: order.uri })
    const paid = await untilOrder(order.id, ({ status }) => status !== 'on-hold')
    const transaction = await guiche.transactions.get(order.transactions[0] ?? '')
    expect(transaction).toMatchObject({ status: 'PAID', amountPaid: 2590 })
    expect(paid).toMatchObject({ status: 'processing', transactionId: transaction.endToEnd })
    expect(count(paid, 'Pix of R$ 25,90 received')).toBe(1)
    expect(await (await fetch(decode(statusUrl))).json()).toEqual({ status: 'paid' })
    expect(await (await fetch(order.page)).text()).not.toContain('guiche-pix')
  })

  it('applies a repeated webhook only once, and refuses those that are not for its orders', async () => {
    const { id, transaction } = await buyAndPay()
    const before = await find(id)
    const data = await guiche.transactions.get(transaction)
    const send = async (more: object, signedWith = secret) => {
      const event = createTestEvent('transaction.paid', { ...data, ...more } as object)
      const signed = await signWebhook(signedWith, event)
      return (await fetch(`${shopUrl}/wc-api/guiche_pix/`, { method: 'POST', ...signed })).status
    }
    expect([await send({}), await send({ sequence: 99 }), await send({ amountPaid: 1 })]).toEqual([204, 204, 204])
    expect(await send({}, `whsec_${btoa('of somebody else')}`)).toBe(401)
    // Another shop's transaction, the same under the code of this order, and one that does not exist.
    const other = await guiche.transactions.create({ amount: 2590, externalCode: `wc-000000000000-${id}` })
    expect(await send({ id: other.id, externalCode: `wc-000000000000-${id}` })).toBe(404)
    expect([await send({ id: other.id }), await send({ id: crypto.randomUUID() })]).toEqual([404, 404])
    expect((await fetch(`${shopUrl}/wc-api/guiche_pix/`)).status).toBe(405)
    expect(await find(id)).toEqual(before)
  })

  it('refunds from the order page, once even if the answer is lost', async () => {
    const { id, transaction } = await buyAndPay()
    expect(await command('refund', String(id), '5.90')).toBe('refunded')
    await guiche.transactions.waitFor(transaction, ({ amountRefunded }) => amountRefunded === 590)

    await loseAnswers('/refund', 2)
    expect(await command('refund', String(id), '10.00')).toMatch(/not known whether the refund was accepted/)
    // The refund was made: the scheduled check records it in the order even if nobody tries again.
    await guiche.transactions.waitFor(transaction, ({ amountRefunded }) => amountRefunded === 1590)
    expect(await command('runScheduled')).toBeGreaterThan(0)
    expect(Number((await find(id)).refunded)).toBe(15.9)
    expect(await command('refund', String(id), '10.00')).toMatch(/was carried out before/)
    expect(await command('refund', String(id), '11.00')).toMatch(/Invalid refund amount/)
    expect(await command('refund', String(id), '10.00')).toBe('refunded')
    await guiche.transactions.waitFor(transaction, 'REFUNDED')
    const refunded = await untilOrder(id, ({ status }) => status === 'refunded')
    expect(refunded).toMatchObject({ refunded: '25.9', refunds: 3 })
    expect((await guiche.transactions.get(transaction)).refunds?.map(({ amount }) => amount)).toEqual([590, 1000, 1000])
  })

  it('charges an order once, even if the answer is lost', async () => {
    const { checkOut } = await fillCart()
    await loseAnswers('/transaction', 2)
    expect((await checkOut()).status).toBe(400)
    const { status, body } = await checkOut()
    expect([status, body.status]).toEqual([200, 'on-hold'])
    const { externalCode = '' } = await guiche.transactions.get((await find(body.order_id)).transactions[0] ?? '')
    expect(await guiche.transactions.list({ externalCode }).all()).toHaveLength(1)
  })

  it('fails the order when the code expires, and charges its new total when the customer tries again', async () => {
    const order = await buy()
    await guiche.sandbox.advanceClock(3600)
    const failed = await untilOrder(order.id, ({ status }) => status === 'failed')
    expect(count(failed, 'expired without a payment')).toBe(1)
    expect(await (await fetch(order.page)).text()).not.toContain('<section class="guiche-pix"')

    await command('total', String(order.id), '30.00')
    const { call } = visit()
    const [, nonce = ''] =
      /name="woocommerce-pay-nonce" value="(\w+)"/.exec(await (await call(pathOf(order.payUrl))).text()) ?? []
    const form = { woocommerce_pay: '1', payment_method: 'guiche_pix', 'woocommerce-pay-nonce': nonce }
    expect((await call(pathOf(order.payUrl), asForm(form))).status).toBe(302)
    const again = await untilOrder(order.id, ({ status }) => status === 'on-hold')
    expect(again.transactions).toHaveLength(2)
    await guiche.sandbox.pay({ uri: again.uri })
    const paid = await untilOrder(order.id, ({ status }) => status === 'processing')
    expect(count(paid, 'Pix of R$ 30,00 received')).toBe(1)
  })

  it('also works in the classic checkout', async () => {
    const { call } = await fillCart()
    const [, nonce = ''] =
      /name="woocommerce-process-checkout-nonce" value="(\w+)"/.exec(await (await call('/classic/')).text()) ?? []
    const billing = Object.fromEntries(Object.entries(address).map(([name, value]) => [`billing_${name}`, value]))
    const form = { ...billing, payment_method: 'guiche_pix', 'woocommerce-process-checkout-nonce': nonce }
    const answer = await (await call('/?wc-ajax=checkout', asForm(form))).json()
    expect(answer).toMatchObject({ result: 'success', redirect: expect.stringContaining('/order-received/') })
  })

  it('puts an order on hold if its total is not what was paid, or if its payment is disputed', async () => {
    const order = await buy()
    await command('total', String(order.id), '30.00')
    await guiche.sandbox.pay({ uri: order.uri })
    const checked = await untilOrder(order.id, (one) => count(one, 'R$ 25,90 was paid, but the order is R$ 30,00') > 0)
    expect(checked.status).toBe('on-hold')

    const { id, transactionId, transaction } = await buyAndPay()
    const { reference } = await guiche.sandbox.openDispute({ endToEnd: transactionId })
    const disputed = await untilOrder(id, (one) => count(one, 'disputes the Pix') > 0)
    expect(disputed.status).toBe('on-hold')
    await guiche.sandbox.decide(reference, 'accept')
    await guiche.transactions.waitFor(transaction, 'INFRACTION')
    expect((await untilOrder(id, ({ status }) => status === 'refunded')).refunded).toBe('25.9')
  })

  it('notes a dispute, its end and a second payment once each, even if that is refunded and disputed', async () => {
    const { id, transactionId, transaction } = await buyAndPay()
    const { reference } = await guiche.sandbox.openDispute({ endToEnd: transactionId })
    await untilOrder(id, (one) => count(one, 'disputes the Pix') > 0)
    await guiche.sandbox.decide(reference, 'reject')
    await untilOrder(id, (one) => count(one, 'What was not returned stays with you') > 0)
    const { externalCode = '', webhookUrl = '' } = await guiche.transactions.get(transaction)
    const second = await guiche.transactions.create({ amount: 1000, externalCode, webhookUrl })
    const { endToEndId: endToEnd } = await guiche.sandbox.pay({ uri: second.pixResponse.uri })
    await untilOrder(id, (one) => count(one, 'Another Pix') > 0)
    await refundInPart(guiche, second.id)
    await guiche.transactions.refund(transaction, { amount: 590 })
    await guiche.sandbox.openDispute({ endToEnd })
    await guiche.transactions.waitFor(second.id, 'BLOCKED')
    await eventually(async () => (await guiche.transactions.events(second.id).page()).data[0]?.delivery === 'delivered')
    const refunded = await untilOrder(id, (one) => one.refunded === '5.9')
    expect(['has ended', 'Another Pix', 'disputes the Pix'].map((note) => count(refunded, note))).toEqual([1, 1, 1])
  })

  it('finds payments by the event feed when no webhook arrives', async () => {
    const first = await buy()
    // The first check saves the position in the feed.
    await command('runScheduled')
    expect((await find(first.id)).status).toBe('on-hold')
    const order = await buy()
    const plugin = join(site, 'wp-content/plugins/guiche-for-woocommerce')
    await rename(plugin, join(site, 'away'))
    for (const { uri, transactions } of [first, order]) {
      await guiche.sandbox.pay({ uri })
      await guiche.transactions.waitFor(transactions[0] ?? '', 'PAID')
    }
    // While the plugin is away, the shop knows nothing of its webhooks.
    await rename(join(site, 'away'), plugin)
    await command('runScheduled')
    expect([(await find(first.id)).status, (await find(order.id)).status]).toEqual(['processing', 'processing'])
  })

  it('left no line that names the plugin in the log of WordPress', async () => {
    const log = await readFile(join(site, 'wp-content/debug.log'), 'utf8').catch(() => '')
    expect(log.split('\n').filter((line) => line.includes('guiche'))).toEqual([])
  })
})
