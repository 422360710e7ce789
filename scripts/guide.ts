import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Token } from 'markdown-it'
import { highlight } from './guide/highlight.ts'
import { type Chapter, type Heading, type Page, renderPage } from './guide/page.ts'
import { writeReference } from './guide/reference.ts'

/**
 * Builds the guide, a folder of pages, from README.md and docs/, with everything they link to: other documents as
 * pages, other files unchanged. It loads nothing from other hosts and works under any address, and from a folder.
 */

export type Guide = {
  /** Content by path in the site. */
  files: Map<string, string | Buffer>
  /** Broken links and anchors, each with its document. */
  faults: string[]
}

type Draft = Page & { source: string; links: { target: string; anchor: string }[]; sections: Section[] }
/** For the search: a heading, and the text below it. */
type Section = Heading & { body: string }

const site = 'docs/site'
const picture = /\.(?:png|svg|webp)$/

/** @param root the folder with README.md and docs/ */
export async function makeGuide(root: string): Promise<Guide> {
  // Loaded only if something has to be built.
  const { default: MarkdownIt } = await import('markdown-it')
  const markdown = new MarkdownIt({ html: false, linkify: false, highlight })
  const faults: string[] = []
  const drafts = new Map<string, Draft>()
  const files = new Map<string, string | Buffer>()

  const read = (source: string) => readFileSync(join(root, source), 'utf8')
  const draft = (source: string): void => {
    if (drafts.has(source)) return
    const text = source.endsWith('.json') ? writeReference(JSON.parse(read(source))) : read(source)
    const tokens = markdown.parse(text, {})
    const made = describe(source, tokens)
    drafts.set(source, made)
    for (const { token, name } of addressesOf(tokens)) {
      const address = String(token.attrGet(name) ?? '')
      if (/^[a-z]+:/.test(address)) continue
      const [path = '', anchor = ''] = address.split('#')
      const target = path === '' ? source : posix.join(posix.dirname(source), path)
      if (!existsSync(join(root, target)) || statSync(join(root, target)).isDirectory()) {
        faults.push(`${source}: there is no ${address}`)
        continue
      }
      if (isPage(target)) {
        draft(target)
        made.links.push({ target, anchor })
      } else files.set(toPath(target), readFileSync(join(root, target)))
      const to = posix.relative(posix.dirname(made.path), toPath(target)) || posix.basename(made.path)
      token.attrSet(name, anchor === '' ? to : `${path === '' ? '' : to}#${anchor}`)
    }
    made.html = frameTables(markdown.renderer.render(tokens, markdown.options, {}))
  }

  const order = JSON.parse(read(`${site}/pages.json`)) as { title: string; pages: string[] }[]
  for (const source of order.flatMap(({ pages }) => pages)) draft(source)
  for (const { source, links } of drafts.values())
    for (const { target, anchor } of links)
      if (anchor !== '' && !drafts.get(target)?.headings.some(({ id }) => id === anchor))
        faults.push(`${source}: ${target} has no heading #${anchor}`)

  const chapters: Chapter[] = order.map(({ title, pages }) => ({
    title,
    pages: pages.flatMap((source) => drafts.get(source) ?? []),
  }))
  for (const page of drafts.values()) files.set(page.path, renderPage(page, chapters))
  for (const name of ['style.css', 'script.js', 'icon.svg']) files.set(name, read(`${site}/${name}`))
  files.set('search.js', writeSearch([...drafts.values()]))
  return { files, faults }
}

function isPage(source: string): boolean {
  return source.endsWith('.md') || source === 'docs/openapi.json'
}

/** A file that is neither a page nor a picture is served as text, whatever its extension. */
function toPath(source: string): string {
  if (source === 'README.md') return 'index.html'
  const path = source.replace(/^docs\//, '').replace(/^\./, '')
  return isPage(source) ? path.replace(/\.\w+$/, '.html') : picture.test(path) ? path : `${path}.txt`
}

/** Gives each heading the anchor that GitHub gives it, and collects the headings and sections of a page. */
function describe(source: string, tokens: Token[]): Draft {
  const headings: Heading[] = []
  const sections: Section[] = []
  const taken = new Map<string, number>()
  for (const [index, token] of tokens.entries()) {
    const text = token.type === 'inline' || token.type === 'fence' ? textOf(token) : ''
    if (tokens[index - 1]?.type === 'heading_open') {
      const name = text
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-')
      const count = taken.get(name) ?? 0
      taken.set(name, count + 1)
      const id = count === 0 ? name : `${name}-${count}`
      const heading = { level: Number(tokens[index - 1]?.tag.slice(1)), id, text }
      tokens[index - 1]?.attrSet('id', id)
      headings.push(heading)
      sections.push({ ...heading, body: '' })
    } else if (text !== '') {
      const section = sections.at(-1)
      if (section) section.body += `${text} `
    }
  }
  return { source, path: toPath(source), title: headings[0]?.text ?? source, headings, html: '', links: [], sections }
}

function textOf(token: Token): string {
  return (token.children ?? [token]).map(({ content, type }) => (type === 'softbreak' ? ' ' : content)).join('')
}

function addressesOf(tokens: Token[]): { token: Token; name: 'href' | 'src' }[] {
  return tokens.flatMap((token) => {
    const inner = addressesOf(token.children ?? [])
    if (token.type === 'link_open') return [{ token, name: 'href' as const }, ...inner]
    return token.type === 'image' ? [{ token, name: 'src' as const }, ...inner] : inner
  })
}

/** A table that is wider than a phone has its own scroll area, also for the keyboard. */
function frameTables(html: string): string {
  return html
    .replaceAll('<table>', '<div class="table" tabindex="0" role="region" aria-label="Table"><table>')
    .replaceAll('</table>', '</table></div>')
    .replaceAll('<pre>', '<pre tabindex="0">')
}

/** A script instead of JSON: a page opened from a folder may load scripts, but not JSON. */
function writeSearch(drafts: Draft[]): string {
  const entries = drafts.flatMap(({ path, title, sections }) =>
    sections.map(({ level, id, text, body }) => ({
      page: title,
      heading: level === 1 ? '' : text,
      path: level === 1 ? path : `${path}#${id}`,
      body: body.replace(/\s+/g, ' ').trim(),
    })),
  )
  return `window.guide = ${JSON.stringify(entries).replaceAll('<', '\\u003c')}\n`
}

/**
 * Builds it again if one of its sources is newer, and then returns true. A program without its documents has no guide.
 */
export async function buildGuide({ root, into }: { root: string; into: string }): Promise<boolean> {
  const made = join(into, 'index.html')
  if (!existsSync(join(root, site, 'pages.json'))) return false
  const sources = [
    'README.md',
    'docs',
    'scripts',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    '.env.example',
    'bench',
    'sdk/README.md',
  ].filter((path) => existsSync(join(root, path)))
  if (existsSync(made) && sources.every((path) => newest(join(root, path)) < statSync(made).mtimeMs)) return false
  const { files } = await makeGuide(root)
  // Written next to it first: a concurrent reader or build sees only complete versions.
  const draft = `${into}-${process.pid}`
  for (const [path, content] of files) {
    mkdirSync(dirname(join(draft, path)), { recursive: true })
    writeFileSync(join(draft, path), content)
  }
  rmSync(into, { recursive: true, force: true })
  try {
    renameSync(draft, into)
  } catch (error) {
    // Another process has just built the same.
    if (!existsSync(made)) throw error
    rmSync(draft, { recursive: true, force: true })
  }
  return true
}

function newest(path: string): number {
  if (statSync(path).isFile()) return statSync(path).mtimeMs
  const inside = readdirSync(path, { withFileTypes: true }).filter(({ name }) => name !== 'node_modules')
  return Math.max(statSync(path).mtimeMs, ...inside.map(({ name }) => newest(join(path, name))))
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await buildGuide({ root: '.', into: 'dist/guide' })
