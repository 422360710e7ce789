import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { source as axeSource } from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { expect, inject } from 'vitest'

/** Folder for screenshots. If set, each {@link Visit.look} saves one there. */
const picturesDir = process.env.GUICHE_PICTURES

/** Null without a browser: skip visibly. */
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
  /** Problems that the page reported: script errors and violations of its content security policy. */
  complaints: string[]
  /**
   * Checks the screen for serious accessibility problems, checks that it is no wider than the window, and takes a
   * screenshot.
   */
  look(name: string): Promise<void>
  close(): Promise<void>
}

/** A visit by one person, with separate cookies. */
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
    // A refused request is not an error of the page.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text())
  })
  return {
    page,
    context,
    complaints,
    async look(name) {
      await page.waitForLoadState('networkidle')
      // An element that is still fading in has too little contrast.
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

/** R$ 12,345,678.90: the widest amounts in practice. */
const largeAmount = 1_234_567_890
const amounts = /amount|^(sum|opening|closing|fees|available|reserved|blocked|suspense|debt|acquirer)$/i

/** From now on the dashboard receives large amounts everywhere, to show screens after a good year. */
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

/** Elements that extend beyond their card. */
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

/** Serious and critical axe violations, each with its place. */
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
