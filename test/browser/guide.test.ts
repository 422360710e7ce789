import { execFile } from 'node:child_process'
import { readdir, readFile, rename } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { errors } from '../../src/lib/errors.ts'
import { chromiumPath, openChromium, visit } from '../support/browser.ts'
import { documents, translations } from '../support/documents.ts'
import { isLong } from '../support/random.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { inviteUser, signIn } from '../support/users.ts'

let service: TestService
/** Every built file, by its path in the guide: the HTML of a page, an empty text for other files. */
const files = new Map<string, string>()
const logged: Record<string, unknown>[] = []
beforeAll(async () => {
  // Does nothing if none of its sources has changed. With these flags garbage is collected less often: a seventh
  // faster.
  const flags = ['--max-semi-space-size=64', '--single-threaded-gc']
  await promisify(execFile)(process.execPath, [...flags, 'scripts/build.mjs', '--guide'])
  for (const name of await readdir('dist/guide', { recursive: true }))
    files.set(name, name.endsWith('.html') ? await readFile(`dist/guide/${name}`, 'utf8') : '')
  service = await startTestService({ onLog: (line) => logged.push(line) })
  // The build takes 20 seconds on an idle machine, and minutes on a busy one.
}, 600_000)
afterAll(() => service.stop())

describe('the built guide', () => {
  it('has a page for every document in docs/', () => {
    const pages = [...documents, ...translations].filter((document) => document.startsWith('docs/'))
    expect(pages.length).toBeGreaterThan(30)
    const names = pages.map((page) => page.replace(/^docs\//, '').replace(/md$/, 'html'))
    expect(names.filter((name) => !files.has(name))).toEqual([])
  })

  it('has no broken link or anchor', () => {
    expect(findBrokenLinks(files)).toEqual([])
    const page = '<a href="/guide/b.html">b</a> <a href="#x">x</a> <img src="/guide/c.svg"> <h2 id="y">y</h2>'
    const broken = new Map([['a.html', `${page}<a href="/guide/a.html#y">y</a><a href="/guide/a.html#z">z</a>`]])
    expect(findBrokenLinks(broken)).toEqual([
      'a.html: /guide/b.html',
      'a.html: #x',
      'a.html: /guide/c.svg',
      'a.html: /guide/a.html#z',
    ])
  })

  it('explains each error code at the address that the `type` of the error has', () => {
    for (const code of Object.keys(errors))
      for (const page of ['errors.html', 'pt/errors.html']) expect(files.get(page), code).toContain(`id="${code}"`)
  })

  it('has an overview for language models, whose links all exist', async () => {
    const { status, text, headers } = await service.call<string>('/llms.txt', { token: null })
    expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8'])
    expect(text).toMatch(/^# Guichê\n\n> .+\n/)
    const linked = [...text.matchAll(/\]\(\/guide\/([^)]*)\): \S.*[.:]$/gm)].map(([, name = '']) => name)
    expect(linked.length).toBeGreaterThan(30)
    expect(linked.filter((name) => !files.has(name))).toEqual([])
  })

  it('loads nothing from other hosts', () => {
    for (const [name, html] of files)
      expect([name, html.match(/(?:\ssrc|<link[^>]*\shref)="(?!\/guide\/)[^"]*"/g)]).toEqual([name, null])
  })

  it('is served with the API, which links to it', async () => {
    const get = async (path: string) => await service.call(`/guide/${path}`, { token: null })
    const front = await get('')
    expect(front.status).toBe(200)
    expect(front.headers.get('content-type')).toMatch(/^text\/html/)
    expect(front.headers.get('cache-control')).toBe('no-cache')
    expect(front.headers.get('content-security-policy')).toContain("; style-src-attr 'unsafe-inline';")
    expect(front.headers.get('content-security-policy')?.match(/unsafe/g)).toHaveLength(1)
    for (const path of ['index.html', 'webhooks.html', 'decisions/0001-postgresql-alone.html', 'env.example.txt'])
      expect((await get(path)).status, path).toBe(200)
    const [asset = ''] = [...files.keys()].filter((name) => name.startsWith('assets/style'))
    expect((await get(asset)).headers.get('cache-control')).toContain('immutable')
    for (const path of ['nothing.html', '..%2fpackage.json', 'decisions', 'decisions/', '%00'])
      expect((await get(path)).status, path).toBe(404)
    // Files get no log line, refused requests do.
    const statuses = logged.flatMap(({ route, status }) => (route === '/guide/*' ? [status] : []))
    expect([...new Set(statuses)]).toEqual([404])
    const document = await service.call<{ info: { description: string } }>('/openapi.json', { token: null })
    expect(document.body.info.description).toContain('](/guide/)')
  })
})

describe.skipIf(chromiumPath === null)('in a browser the guide', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await openChromium()
  })
  afterAll(() => browser.close())

  it('is shown at both widths, in both themes, within its content security policy', async () => {
    const { page, checkScreenAtEachSize, pageErrors, close } = await visit(browser)
    const more = isLong ? ['quick-start', 'dashboard', 'reference/balance'] : []
    for (const name of ['index', 'errors', 'pt/reference/index', ...more]) {
      await page.goto(`${service.baseUrl}/guide/${name}.html`)
      await checkScreenAtEachSize(`guide-${name.replaceAll('/', '-')}`)
    }
    expect(pageErrors).toEqual([])
    await close()
  })

  it('has an API page that gets its token with a client id and secret', async () => {
    const { page, pageErrors, close } = await visit(browser)
    await page.goto(`${service.baseUrl}/docs`)
    await page.getByRole('button', { name: 'Authorize' }).click()
    const form = page.locator('.auth-container').filter({ hasText: 'clientCredentials' })
    await form.getByLabel('client_id:').fill(service.sandbox.clientId)
    await form.getByLabel('client_secret:').fill('not the secret')
    await form.locator('button.authorize').click()
    await form
      .getByText(/invalid_client|Unauthorized/)
      .first()
      .waitFor()
    await form.getByLabel('client_secret:').fill(service.sandbox.clientSecret)
    await form.locator('button.authorize').click()
    await form.getByRole('button', { name: 'Remove authorization' }).waitFor()
    await form.getByRole('button', { name: 'Close' }).click()
    const balance = page.locator('#operations-Balance-getBalance')
    await balance
      .getByRole('button', { name: /balance/ })
      .first()
      .click()
    await balance.getByRole('button', { name: 'Try it out' }).click()
    await balance.getByRole('button', { name: 'Execute' }).click()
    await balance.locator('.live-responses-table').getByText('"available": 0').waitFor()
    // The page stores no credentials in the browser.
    expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).toBe('{}')
    expect(pageErrors).toEqual([])
    await close()
  })

  it('has no page that is wider than a phone', async () => {
    // Its pages are complete without their scripts, which would take most of the time.
    const context = await browser.newContext({ viewport: { width: 390, height: 900 }, javaScriptEnabled: false })
    const page = await context.newPage()
    const wide: string[] = []
    let swapped = 0
    await page.goto(`${service.baseUrl}/guide/index.html`)
    for (const [name, html] of files) {
      if (!name.endsWith('.html') || name === '404.html') continue
      // The translations have the same tables: only in `npm run test:long`.
      if (name.startsWith('pt/') && !isLong) continue
      // All pages share their style sheets. The body of a page whose only image is the logo replaces the one before,
      // which is faster than loading it.
      if (html.match(/<img /g)?.length === 1) {
        await page.evaluate((text) => {
          document.body.replaceWith(new DOMParser().parseFromString(text, 'text/html').body)
        }, html)
        swapped += 1
      } else await page.goto(`${service.baseUrl}/guide/${name}`)
      const [shown, excess] = await page.evaluate(() => [
        document.body.scrollHeight,
        document.documentElement.scrollWidth - innerWidth,
      ])
      expect(shown, name).toBeGreaterThan(300)
      if (excess > 0) wide.push(`${name}: ${excess} px`)
    }
    expect(swapped).toBeGreaterThan(50)
    expect(wide).toEqual([])
    await context.close()
  })

  it('shows all samples in the language that was chosen for one', async () => {
    const { page, close, pageErrors } = await visit(browser)
    await page.goto(`${service.baseUrl}/guide/reference/balance.html`)
    await page.getByText('curl -sS $BASE/balance').waitFor()
    await page.getByText('Python', { exact: true }).last().click()
    await page.getByText('print(balance["available"])').waitFor()
    await page.getByText('curl -sS $BASE/balance').waitFor({ state: 'hidden' })
    await page.goto(`${service.baseUrl}/guide/pt/reference/token.html`)
    await page.getByText('token = httpx.get(').waitFor()
    expect(pageErrors).toEqual([])
    await close()
  })

  it('leads to other pages through its contents and its search', async () => {
    const { page, close, pageErrors } = await visit(browser)
    await page.goto(`${service.baseUrl}/guide`)
    const contents = page.getByRole('navigation', { name: 'Sidebar Navigation' })
    const titles = await contents.getByRole('link').allTextContents()
    expect(titles.length).toBeGreaterThan(20)
    for (const title of titles.slice(1, 6)) {
      await contents.getByRole('link', { name: title, exact: true }).click()
      await page.getByRole('heading', { level: 1, name: title }).waitFor()
    }
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('searchbox').fill('repeated key gives')
    await page.getByRole('option').first().click()
    await expect.poll(() => page.url()).toMatch(/idempotency\.html#what-a-repeated-key-gives$/)
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('searchbox').fill('xyzzyxyzzy')
    await page.getByText('No results for').waitFor()
    await page.goto(`${service.baseUrl}/guide/pt/`)
    await page.getByRole('button', { name: 'Buscar no guia' }).click()
    await page.getByRole('searchbox').fill('devolucao')
    await page.getByRole('option').first().click()
    await expect.poll(() => page.url()).toMatch(/guide\/pt\/.*devolu/)
    expect(pageErrors).toEqual([])
    await close()
  })

  it('appears as soon as it is built, without another start', async () => {
    const { page, close } = await visit(browser)
    await rename('dist/guide', 'dist/guide-away')
    try {
      await page.goto(`${service.baseUrl}/guide/pt/`)
      await page.getByText('The guide has not been built yet').waitFor()
    } finally {
      await rename('dist/guide-away', 'dist/guide')
    }
    await page.getByRole('link', { name: 'Primeiros passos' }).first().waitFor()
    await close()
  })

  it('is linked from the dashboard', async () => {
    const { page, checkScreen, close } = await visit(browser)
    await signIn(page, service, await inviteUser(service, { role: 'support' }))
    await page.getByRole('button', { name: /^Your account/ }).click()
    const link = page.getByRole('menuitem', { name: 'Guide' })
    await link.waitFor()
    await checkScreen('menu')
    const [opened] = await Promise.all([page.waitForEvent('popup'), link.click()])
    await opened.getByRole('heading', { level: 1, name: 'Guichê' }).waitFor()
    await close()
  })
})

/** Links within the guide to a file or an anchor that does not exist. */
function findBrokenLinks(all: Map<string, string>): string[] {
  return [...all].flatMap(([name, html]) =>
    [...html.matchAll(/<(?:a|img)\s[^>]*(?:href|src)="((?:\/guide\/|#)[^"]*)"/g)].flatMap(([, address = '']) => {
      const [path = '', anchor = ''] = address.split('#')
      const target = path === '' ? name : path.replace('/guide/', '').replace(/(?<=^|\/)$/, 'index.html')
      const page = all.get(target)
      const isFound = page !== undefined && (anchor === '' || page.includes(`id="${decodeURIComponent(anchor)}"`))
      return isFound ? [] : [`${name}: ${address}`]
    }),
  )
}
