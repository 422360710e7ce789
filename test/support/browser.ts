import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { source as axeSource } from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { expect, inject } from 'vitest'

/** Where pictures of screens are kept, for people to look at: set it, and each {@link Visit.look} leaves one there. */
const picturesDir = process.env.GUICHE_PICTURES

/** Null where there is no browser: skip visibly. */
export const chromiumPath = inject('chromium')

export async function openChromium(): Promise<Browser> {
  return await chromium.launch({
    executablePath: chromiumPath ?? '',
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    headless: true,
  })
}

export type Look = { width: 390 | 1440; theme: 'light' | 'dark' }

export type Visit = {
  page: Page
  context: BrowserContext
  /** What the page complained of: errors of scripts, breaches of its content security policy. */
  complaints: string[]
  /** Checks the screen as it is for serious faults of accessibility, and that it is no wider than the window; takes its picture. */
  look(name: string): Promise<void>
  close(): Promise<void>
}

/** A visit by one person, with cookies of its own. */
export async function visit(
  browser: Browser,
  { width = 1440, theme = 'light', locale = 'en-US' }: Partial<Look & { locale: 'en-US' | 'pt-BR' }> = {},
): Promise<Visit> {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: theme,
    locale,
    reducedMotion: 'reduce',
  })
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => {
    // A request that was refused is no fault of the page.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text())
  })
  return {
    page,
    context,
    complaints,
    async look(name) {
      await page.waitForLoadState('networkidle')
      // What is still fading in has no contrast yet.
      await page.evaluate(
        async () => await Promise.allSettled(document.getAnimations().map(({ finished }) => finished)),
      )
      if (picturesDir !== undefined) {
        await mkdir(picturesDir, { recursive: true })
        await page.screenshot({ path: join(picturesDir, `${name}-${width}-${theme}.png`), fullPage: true })
      }
      expect(await findFaults(page), `${name} at ${width}, ${theme}`).toEqual([])
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
      expect(wider, `${name} at ${width} is wider than the window`).toBeLessThanOrEqual(0)
    },
    close: async () => await context.close(),
  }
}

/** R$ 12.345.678,90, which is as wide as amounts get. */
const largeAmount = 1_234_567_890
const amounts = /amount|^(sum|opening|closing|fees|available|reserved|blocked|suspense|debt|acquirer)$/i

/** From now on the dashboard gets every amount as a large one, so that a screen is seen as it is after a good year. */
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

/** What is painted beyond the edge of its card. */
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

/** Serious and critical faults by axe, each with where it is. */
async function findFaults(page: Page): Promise<string[]> {
  await page.evaluate(axeSource)
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run(): Promise<{ violations: Violation[] }> } }
    return (await axe.run()).violations
  })
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary}`),
    )
}

type Violation = { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }
