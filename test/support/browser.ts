import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page, type Request } from 'playwright-core'
import { expect, inject } from 'vitest'
import { findFaults } from './accessibility.ts'
import { openPages } from './open-pages.ts'
import { isLong } from './random.ts'

/** Folder for screenshots. If set, each {@link Visit.checkScreen} saves one there. */
const picturesDir = process.env.GUICHE_PICTURES
/** Whether {@link Visit.checkScreenAtEachSize} checks all four combinations of width and theme. */
const checksEachCombination = isLong || picturesDir !== undefined

/** Null without a browser: skip visibly. */
export const chromiumPath = inject('chromium')

export async function openChromium(): Promise<Browser> {
  return await chromium.launch({
    executablePath: chromiumPath ?? '',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    headless: true,
  })
}

/** Long enough for a busy machine. */
const timeoutMs = 90_000

export type Appearance = { width: 390 | 1440; theme: 'light' | 'dark' }

export type Visit = {
  page: Page
  context: BrowserContext
  /** Problems that the page reported: script errors and violations of its content security policy. */
  pageErrors: string[]
  /** Opens a path of the dashboard as its own links do: the program is not loaded again, and recent data stays. */
  go(path: string): Promise<void>
  /** Chooses the language in the menu of the account. */
  chooseLanguage(language: 'English' | 'Português'): Promise<void>
  /**
   * Deletes what the browser has stored, so that the next test begins as a new person. A new visit would compile the
   * dashboard again, which is two thirds of loading it.
   */
  reset(): Promise<void>
  /** Changes the width of the window and the theme of the system. */
  setAppearance(to: Partial<Appearance>): Promise<void>
  /**
   * Checks the screen for serious accessibility problems, and that it is no wider than the window. If GUICHE_PICTURES
   * is set, also takes a screenshot.
   */
  checkScreen(name: string): Promise<void>
  /**
   * With `npm run test:long` or GUICHE_PICTURES, the same at both widths and in both themes, without loading the page
   * again. Without them, it checks the screen as it is, and then its colors and its width at the other width in the
   * other theme.
   */
  checkScreenAtEachSize(name: string): Promise<void>
  close(): Promise<void>
}

/** A visit by one person, with separate cookies. */
export async function visit(
  browser: Browser,
  { width = 1440, theme = 'light', locale = 'en-US' }: Partial<Appearance & { locale: 'en-US' | 'pt-BR' }> = {},
): Promise<Visit> {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: theme,
    locale,
    reducedMotion: 'reduce',
  })
  const page = await context.newPage()
  page.setDefaultTimeout(timeoutMs)
  const pageErrors: string[] = []
  page.on('pageerror', (error) => pageErrors.push(String(error)))
  page.on('console', (message) => {
    // A refused request is not an error of the page.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      pageErrors.push(message.text())
  })
  const settled = watchRequests(page)
  let now: Appearance = { width, theme }
  const checkScreen = async (name: string, options?: { onlyColor: boolean }) => {
    await settled()
    const place = `${name} at ${now.width}, ${now.theme}`
    if (picturesDir !== undefined) {
      await mkdir(picturesDir, { recursive: true })
      await page.screenshot({ path: join(picturesDir, `${name}-${now.width}-${now.theme}.png`), fullPage: true })
    }
    expect(await findFaults(page, options), place).toEqual([])
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    expect(wider, `${place} is wider than the window`).toBeLessThanOrEqual(0)
  }
  const setAppearance = async (next: Partial<Appearance>) => {
    now = { ...now, ...next }
    await page.emulateMedia({ colorScheme: now.theme })
    // The dashboard's script applies the theme, on a busy machine later than the frames that a check waits for.
    const shown = async () => await page.evaluate(() => document.documentElement.dataset.mantineColorScheme ?? null)
    await expect.poll(shown, { interval: 10 }).toBeOneOf([null, now.theme])
    await page.setViewportSize({ width: now.width, height: 900 })
  }
  const open = { page, pageErrors }
  openPages.add(open)
  return {
    page,
    context,
    pageErrors,
    async go(path) {
      await page.evaluate((address) => history.pushState(null, '', `/dashboard${address}`), path)
      await settled()
    },
    async chooseLanguage(language) {
      await page.getByRole('button', { name: /Your account|Sua conta/ }).click()
      await page.getByRole('menuitem', { name: language }).click()
      await page.getByRole('menuitem').first().waitFor({ state: 'detached' })
    },
    async reset() {
      await context.setOffline(false)
      await page.unrouteAll({ behavior: 'ignoreErrors' })
      await context.clearCookies()
      if (page.url() !== 'about:blank')
        await page.evaluate(() => {
          localStorage.clear()
          sessionStorage.clear()
        })
      await page.goto('about:blank')
      await setAppearance({ width, theme })
      pageErrors.length = 0
    },
    setAppearance,
    checkScreen: async (name) => await checkScreen(name),
    async checkScreenAtEachSize(name) {
      const first = now
      const other: Appearance = {
        width: first.width === 390 ? 1440 : 390,
        theme: first.theme === 'light' ? 'dark' : 'light',
      }
      await checkScreen(name)
      if (checksEachCombination) {
        await setAppearance({ theme: other.theme })
        await checkScreen(name, { onlyColor: true })
      }
      await setAppearance(other)
      await checkScreen(name, { onlyColor: !checksEachCombination })
      if (checksEachCombination) {
        await setAppearance({ theme: first.theme })
        await checkScreen(name, { onlyColor: true })
      }
      await setAppearance(first)
      // A part that depends on the width is rendered again, which takes the focus from its elements.
      await settled()
    },
    async close() {
      openPages.delete(open)
      // An answer that a route is still changing is lost with the page, which is no error.
      await page.unrouteAll({ behavior: 'ignoreErrors' })
      await context.close()
    },
  }
}

/** Returns a function that waits until the page has an answer to each request, has shown it and moves no more. */
function watchRequests(page: Page): () => Promise<void> {
  const open = new Set<Request>()
  page.on('request', (request) => {
    // A stream of events is open as long as its page.
    if (request.resourceType() !== 'eventsource') open.add(request)
  })
  page.on('requestfinished', (request) => open.delete(request))
  page.on('requestfailed', (request) => open.delete(request))
  return async () => {
    do {
      await expect.poll(() => open.size, { interval: 10 }).toBe(0)
      await page.evaluate(async () => {
        for (const _ of [1, 2]) await new Promise((shown) => requestAnimationFrame(() => setTimeout(shown)))
        // An element that is still fading in has too little contrast.
        await Promise.allSettled(document.getAnimations().map(({ finished }) => finished))
      })
    } while (open.size > 0)
  }
}

/** R$ 12,345,678.90: the widest amounts in practice. */
const largeAmount = 1_234_567_890
export const largeAmounts = { 'en-US': 'R$12,345,678.90', 'pt-BR': /R\$\s12\.345\.678,90/ }
const amounts = /amount|^(sum|opening|closing|fees|available|reserved|blocked|suspense|debt|acquirer)$/i

/** From now on the overview, closed days and withdrawals have large amounts in the dashboard, as after a good year. */
export async function enlargeAmounts(page: Page): Promise<void> {
  const enlarge = (name: string, value: unknown) =>
    typeof value === 'number' && amounts.test(name) ? Math.sign(value || 1) * largeAmount : value
  await page.route(/\/dashboard\/api\/(overview|reconciliation\/day|withdrawal)/, async (route) => {
    const answer = await route.fetch()
    const isJson = answer.headers()['content-type']?.includes('json') ?? false
    const body = isJson ? JSON.stringify(JSON.parse(await answer.text(), enlarge)) : await answer.body()
    await route.fulfill({ response: answer, body })
  })
}

/** The texts that extend beyond their card. */
export async function findSpilled(page: Page): Promise<string[]> {
  return await page.evaluate(() =>
    [...document.querySelectorAll('.card')].flatMap((card) => {
      const edge = card.getBoundingClientRect().right + 0.5
      const range = document.createRange()
      return [...card.querySelectorAll('*')].flatMap((element) => {
        const isText = element.childElementCount === 0 && element.textContent !== '' && !element.closest('.unseen')
        if (!isText) return []
        range.selectNodeContents(element)
        return range.getBoundingClientRect().right > edge ? [element.textContent ?? ''] : []
      })
    }),
  )
}
