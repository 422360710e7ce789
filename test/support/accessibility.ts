import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** Their violations are minor or moderate, which no check counts, and finding them is a third of the work. */
const rulesNotCounted = [
  ...['aria-allowed-role', 'empty-heading', 'form-field-multiple-labels', 'heading-order', 'image-redundant-alt'],
  ...['landmark-banner-is-top-level', 'landmark-contentinfo-is-top-level', 'landmark-main-is-top-level'],
  ...['landmark-no-duplicate-banner', 'landmark-no-duplicate-contentinfo', 'landmark-no-duplicate-main'],
  ...['landmark-one-main', 'landmark-unique', 'page-has-heading-one', 'presentation-role-conflict', 'region'],
  ...['scope-attr-valid', 'skip-link'],
]

/** The rules that depend on the theme. They take half of the time. */
const rulesOfColor = ['color-contrast', 'link-in-text-block']

/** axe would read all style sheets for a rule that is off by default, which is a quarter of a check. */
const preload = false

/**
 * The styles of texts that the rules of color accepted in this process. The frame of the dashboard, or a table of a
 * hundred rows, has few styles: each is checked once in each theme, not on each screen again.
 */
const acceptedStyles = new Set<string>()

/**
 * Serious and critical violations that axe finds, each with the HTML of its element.
 *
 * @param onlyColor checks what depends on the theme, for a screen whose structure was checked
 */
export async function findFaults(page: Page, { onlyColor = false }: { onlyColor?: boolean } = {}): Promise<string[]> {
  if (await page.evaluate(() => !('axe' in globalThis))) await page.evaluate(axe.source)
  const violations = [...(onlyColor ? [] : await checkStructure(page)), ...(await checkColors(page))]
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)} ${failureSummary}`),
    )
}

async function checkStructure(page: Page): Promise<axe.Result[]> {
  const rules = Object.fromEntries([...rulesNotCounted, ...rulesOfColor].map((id) => [id, { enabled: false }]))
  return await page.evaluate(
    async (options) => (await (globalThis as unknown as Global).axe.run(document, options)).violations,
    { resultTypes: ['violations'], preload, rules } satisfies axe.RunOptions,
  )
}

type Global = { axe: typeof axe }

async function checkColors(page: Page): Promise<axe.Result[]> {
  const { violations, accepted } = await page.evaluate(checkNewStyles, {
    known: [...acceptedStyles],
    options: { elementRef: true, selectors: false, preload, runOnly: rulesOfColor },
  })
  for (const style of accepted) acceptedStyles.add(style)
  return violations
}

/** Runs in the page. */
async function checkNewStyles({ known, options }: { known: string[]; options: axe.RunOptions }) {
  const skipped = new Set(known)
  type Background = { colors: string; opacity: number; isUnknown: boolean }
  const backgrounds = new Map<Element | null, Background>([[null, { colors: '', opacity: 1, isUnknown: false }]])
  /** What a text in this element is drawn on. */
  const backgroundOf = (element: Element | null): Background => {
    const seen = backgrounds.get(element)
    if (seen || !element) return seen ?? { colors: '', opacity: 1, isUnknown: true }
    const above = backgroundOf(element.parentElement)
    const { backgroundColor, backgroundImage, opacity, position } = getComputedStyle(element)
    const drawn = [backgroundColor, backgroundImage].filter((value) => value !== 'rgba(0, 0, 0, 0)' && value !== 'none')
    const isMoved = !['static', 'relative'].includes(position) || element instanceof SVGElement
    const background = {
      colors: [above.colors, ...drawn].join(' '),
      opacity: above.opacity * Number(opacity),
      // A positioned text, such as a label on a bar of a chart, may lie on any element.
      isUnknown: (above.isUnknown || isMoved) && !backgroundColor.startsWith('rgb('),
    }
    backgrounds.set(element, background)
    return background
  }
  const hasText = (element: Element) =>
    ['INPUT', 'SELECT', 'TEXTAREA'].includes(element.tagName) ||
    [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.nodeValue?.trim())
  const styleOf = (element: Element, { colors, opacity }: Background) => {
    const { color, fontSize, fontWeight, textShadow, textDecorationLine } = getComputedStyle(element)
    const around = element.parentElement ? getComputedStyle(element.parentElement).color : ''
    // axe does not judge a text of one character.
    const isShort = (element.textContent ?? '').trim().length < 2
    const text = [element.tagName, element.getAttribute('class'), color, fontSize, fontWeight, textShadow]
    return [...text, textDecorationLine, around, colors, opacity, isShort].join('|')
  }
  const include: Element[] = []
  const styles = new Map<Element, string>()
  /** The last of each style. The first may be covered, so both are checked. */
  const last = new Map<string, Element>()
  for (const element of document.body.querySelectorAll('*')) {
    // Neither what is hidden nor what is for screen readers only has a color.
    if (!hasText(element) || element.getClientRects().length === 0 || element.closest('.unseen')) continue
    const background = backgroundOf(element)
    const style = styleOf(element, background)
    if (background.isUnknown) include.push(element)
    else if (!skipped.has(style)) {
      styles.set(element, style)
      if (!last.has(style)) include.push(element)
      last.set(style, element)
    }
  }
  include.push(...last.values())
  if (include.length === 0) return { violations: [], accepted: [] }
  const { violations, passes } = await (globalThis as unknown as Global).axe.run({ include }, options)
  const stylesIn = (results: axe.Result[]) =>
    results.flatMap(({ nodes }) => nodes.flatMap(({ element }) => styles.get(element as HTMLElement) ?? []))
  const refused = new Set(stylesIn(violations))
  const accepted = stylesIn(passes.filter(({ id }) => id === 'color-contrast')).filter((style) => !refused.has(style))
  // An element cannot leave the page.
  for (const { nodes } of violations) for (const node of nodes) delete node.element
  return { violations, accepted }
}
