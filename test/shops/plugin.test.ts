import { execFile, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'

/** The parts of the plugin for WooCommerce that need no WordPress. woocommerce.test.ts tests the rest in a real one. */
const folder = 'plugins/woocommerce'
const files = [
  'guiche-for-woocommerce.php',
  'package.php',
  ...readdirSync(`${folder}/includes`).map((name) => `includes/${name}`),
]
const sources = files.map((name) => readFileSync(`${folder}/${name}`, 'utf8'))
const hasPhp = spawnSync('php', ['--version']).status === 0

it.skipIf(!hasPhp)('the plugin for WooCommerce is valid PHP', async () => {
  for (const name of files) await promisify(execFile)('php', ['-l', `${folder}/${name}`])
})

it.skipIf(!hasPhp)('sends each refund that WooCommerce has a record of, and none is carried out twice', async () => {
  const { stdout } = await promisify(execFile)('php', ['test/shops/refunds.php'])
  const key = (number: number) => `wc-1f2e3d4c5b6a-7-refund-${number}`
  expect(JSON.parse(stdout)).toEqual({
    // The first process was killed, and the answer to the third refund was lost.
    requested: [`${key(1)} 500`, `${key(1)} 500`, `${key(2)} 500`, `${key(3)} 300`, `${key(3)} 300`],
    carriedOut: [500, 500, 300],
    records: 3,
  })
})

it.skipIf(!hasPhp)('follows the event feed with the scopes of its README, past an order that fails', async () => {
  const { stdout } = await promisify(execFile)('php', ['test/shops/schedule.php'])
  expect(JSON.parse(stdout)).toEqual({
    feed: { position: '8-00000000', done: [8] },
    // Minutes until the order that fails is checked again.
    pauses: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024],
    // The type of a form, which cURL adds to an empty body, is refused.
    cancel: [expect.objectContaining({ method: 'POST', type: 'application/json' })],
  })
})

it('every text of it is in Portuguese, and compiled', () => {
  const texts = sources.flatMap((source) => [
    ...source.matchAll(/\b(?:__|esc_html__|esc_attr__|esc_html_e|esc_attr_e)\('((?:[^'\\]|\\.)+)', '([^']+)'\)/g),
  ])
  expect(texts.length).toBeGreaterThan(35)
  expect(new Set(texts.map(([, , domain]) => domain))).toEqual(new Set(['guiche-for-woocommerce']))
  const name = `${folder}/languages/guiche-for-woocommerce-pt_BR`
  const pairs = readFileSync(`${name}.po`, 'utf8').matchAll(/^msgid "(.+)"\nmsgstr "(.+)"$/gm)
  const translated = new Map([...pairs].map(([, text = '', translation = '']) => [text, translation]))
  expect(texts.map(([, text = '']) => text).filter((text) => !translated.has(text))).toEqual([])
  // `msgfmt -o ….mo ….po` writes it.
  const compiled = readFileSync(`${name}.mo`, 'utf8')
  expect([...translated].flat().filter((text) => !compiled.includes(`${text}\0`))).toEqual([])
})

it('is offered in the checkout block, with its title and description', () => {
  type Method = {
    name: string
    ariaLabel: string
    canMakePayment(): boolean
    content: { type(): { children: unknown[] } }
  }
  const methods: Method[] = []
  const settings = { title: 'Pix &amp; mais', description: 'Pague no app.', icon: '/pix.svg', supports: ['products'] }
  const window = {
    wc: {
      wcBlocksRegistry: { registerPaymentMethod: (method: Method) => methods.push(method) },
      wcSettings: { getPaymentMethodData: (name: string) => (name === 'guiche_pix' ? settings : {}) },
    },
    wp: {
      element: {
        createElement: (type: unknown, props: unknown, ...children: unknown[]) => ({ type, props, children }),
      },
      htmlEntities: { decodeEntities: (text: string) => text.replace('&amp;', '&') },
    },
  }
  runInNewContext(readFileSync(`${folder}/assets/checkout-block.js`, 'utf8'), { window })
  expect(methods.map(({ name, ariaLabel }) => [name, ariaLabel])).toEqual([['guiche_pix', 'Pix & mais']])
  expect(methods[0]?.canMakePayment()).toBe(true)
  expect(methods[0]?.content.type().children).toEqual(['Pague no app.'])
})
