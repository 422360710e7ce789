import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { type DefaultTheme, defineConfig, type MarkdownRenderer } from 'vitepress'
import { portuguese, portugueseSearch } from './portuguese.ts'
import { type Document, writeReference } from './reference.ts'
import { toPortuguese } from './reference-portuguese.ts'
import { english, portugueseWords } from './reference-words.ts'
import { readSamples } from './samples.ts'

/**
 * The guide: the pages of docs/, which the service serves at `/guide/`. `npm run guide` builds it. While writing,
 * `npx vitepress dev docs` shows each change at once. Some pages only include a file from elsewhere, such as the README.
 */

const docs = join(import.meta.dirname, '..')
const root = join(docs, '..')

const document: Document = JSON.parse(readFileSync(join(docs, 'openapi.json'), 'utf8'))
const samples = readSamples()
const texts = {
  en: writeReference(document, samples, { words: english, translate: (text) => text }),
  pt: writeReference(document, samples, { words: portugueseWords, translate: toPortuguese }),
}
for (const [language, pages] of Object.entries(texts))
  for (const [name, text] of pages) writeIncluded(`dist/reference/${language}/${name}.md`, text)

/** The pages of the reference: an index, and one page for each tag of the OpenAPI document. */
const reference = ['index', ...texts.en.keys()].map((name) => `reference/${name}`)

/** The contents, in order. A name is a file of docs/ without its extension. */
const chapters: Chapters = {
  Start: ['index', 'quick-start', 'php', 'python'],
  Concepts: ['statuses', 'idempotency', 'money', 'webhooks', 'event-feed', 'errors', 'glossary'],
  Integrate: ['api', 'sdk', 'developer-commands', 'payment-page', 'payment-links', 'withdrawals', 'sandbox'],
  'API reference': reference,
  'Go live': ['going-live', 'acquirers', 'several-acquirers', 'simulator'],
  Operate: [
    'installation',
    'dashboard',
    'configuration',
    'operations',
    'scaling',
    'upgrading',
    'backups',
    'high-availability',
    'monitoring',
    'privacy',
    'security',
    'reconciliation',
    'suspense',
  ],
  Inside: ['architecture', 'ledger', 'decisions'],
}

const translated: Chapters = {
  Início: ['pt/index', 'pt/quick-start', 'pt/php', 'pt/python'],
  Conceitos: ['pt/statuses', 'pt/idempotency', 'pt/money', 'pt/webhooks', 'pt/event-feed', 'pt/errors'],
  Integração: [
    'pt/api',
    'pt/sdk',
    'pt/developer-commands',
    'pt/payment-page',
    'pt/payment-links',
    'pt/withdrawals',
    'pt/sandbox',
  ],
  'Referência da API': reference.map((page) => `pt/${page}`),
  Produção: ['pt/going-live', 'pt/acquirers', 'pt/several-acquirers'],
  Operação: [
    'pt/installation',
    'pt/dashboard',
    'pt/configuration',
    'pt/operations',
    'pt/upgrading',
    'pt/backups',
    'pt/monitoring',
    'pt/privacy',
    'pt/reconciliation',
    'pt/suspense',
  ],
}

type Chapters = Record<string, string[]>

/** Linked files without a page, such as proxies/nginx.conf: served as text. */
const attachments = new Set<string>()

export default defineConfig({
  title: 'Guichê',
  description: 'A self-hosted PIX payment gateway',
  lang: 'en',
  base: '/guide/',
  outDir: join(root, 'dist/guide'),
  cacheDir: join(root, 'dist/.vitepress'),
  head: [['link', { rel: 'icon', href: '/guide/icon.svg' }]],
  // In a file of its own: the content security policy allows inline scripts only by their hash.
  metaChunk: true,
  // A test finds dead links. Readers need the guide even if it has one.
  ignoreDeadLinks: true,
  router: { prefetchLinks: false },
  // Otherwise the theme inserts a style element, which the content security policy refuses.
  appearance: { disableTransition: false },
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    // As on GitHub: `<id>` and `{id}` in a text or a heading are text.
    html: false,
    attrs: { disable: true },
    anchor: { slugify: toAnchor },
    config: (markdown) => {
      resolveLinks(markdown)
      nameErrors(markdown)
      rememberHighlighted(markdown)
    },
  },
  themeConfig: {
    logo: { src: '/icon.svg', alt: '' },
    search: { provider: 'local', options: { locales: { pt: { translations: portugueseSearch } } } },
    outline: [2, 3],
    nav: [{ text: 'API reference', link: '/reference/' }],
    sidebar: toSidebar(chapters),
    // Not every page exists in Portuguese: the language menu leads to the first one.
    i18nRouting: false,
  },
  locales: {
    root: { label: 'English', lang: 'en' },
    pt: {
      label: 'Português',
      lang: 'pt-BR',
      description: 'Um gateway de Pix que roda na sua própria infraestrutura',
      themeConfig: {
        ...portuguese,
        i18nRouting: true,
        sidebar: [...toSidebar(translated), { text: 'Em inglês', items: untranslated() }],
      },
    },
  },
  transformPageData: ({ relativePath, frontmatter }) => {
    if (/^(?:pt\/)?reference\//.test(relativePath)) frontmatter.pageClass = 'reference'
  },
  buildEnd: ({ outDir }) => {
    writeFileSync(join(outDir, 'llms.txt'), writeOverview())
    for (const path of attachments) {
      const copy = join(outDir, toAttachment(path))
      mkdirSync(dirname(copy), { recursive: true })
      copyFileSync(join(root, path), copy)
    }
  },
})

/** The anchor that GitHub gives a heading, so that links work in both places. */
function toAnchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')
}

function toSidebar(contents: Chapters): DefaultTheme.SidebarItem[] {
  return Object.entries(contents).map(([text, pages]) => ({ text, items: pages.map(toItem) }))
}

function toItem(page: string): DefaultTheme.SidebarItem {
  const names: Record<string, string> = {
    index: 'Overview',
    'reference/index': 'Before the first request',
    'pt/index': 'Visão geral',
    'pt/reference/index': 'Antes da primeira requisição',
  }
  return { text: names[page] ?? titleOf(page), link: `/${page}` }
}

function untranslated(): DefaultTheme.SidebarItem[] {
  const inPortuguese = Object.values(translated).flat()
  const pages = Object.values(chapters).flat()
  return pages.filter((page) => !inPortuguese.includes(`pt/${page}`)).map(toItem)
}

/** For language models (llmstxt.org): what there is to read, and what each page begins with. */
function writeOverview(): string {
  const sections = Object.entries(chapters).map(([name, pages]) => {
    const lines = pages.map((page) => `- [${toItem(page).text}](/guide/${page}.html): ${leadOf(page)}`)
    return `## ${name}\n\n${lines.join('\n')}`
  })
  const about =
    '> A self-hosted PIX payment gateway: one API in front of your own bank or PSP. Amounts are integers in cents of BRL.'
  const machine = '- [OpenAPI 3.1](/openapi.json): every operation, with examples of each request, answer and error'
  return `${['# Guichê', about, `## API\n\n${machine}`, ...sections].join('\n\n')}\n`
}

/** The first sentence of a page, without links and marks. */
function leadOf(page: string): string {
  const parts = readFileSync(join(docs, `${page}.md`), 'utf8').split(/\n{2,}/)
  const paragraph = parts.find((part) => /^\p{Lu}/u.test(part)) ?? ''
  const plain = paragraph
    .replaceAll('\n', ' ')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[*`]/g, '')
  return plain.trim().split(/(?<=\.) /)[0] || 'What Guichê is, and how to start it.'
}

function titleOf(page: string): string {
  const [, title] = /^# (.*)/m.exec(readFileSync(join(docs, `${page}.md`), 'utf8')) ?? []
  if (title === undefined) throw new Error(`docs/${page}.md has no title`)
  return title
}

/** Documents link to each other by their paths in the repository; here the same links lead to pages. */
function resolveLinks(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push('repository-links', ({ tokens, env }) => {
    const page: string = env.realPath ?? env.path
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const name = token.type === 'image' ? 'src' : 'href'
      const [path = '', anchor] = token.attrGet(name)?.split('#') ?? []
      if (path === '' || /^[a-z]+:/.test(path)) continue
      // What a page includes has its links from where it comes.
      const file = [page, ...(env.includes ?? [])].map((from) => join(dirname(from), path)).find(existsSync)
      if (file === undefined) continue
      const address = name === 'src' ? relative(dirname(page), file) : toAddress(relative(root, file))
      token.attrSet(name, anchor === undefined ? address : `${address}#${anchor}`)
    }
  })
}

/**
 * Colours each sample once. The index of the search renders all pages again, and most samples are the same in both
 * languages.
 */
function rememberHighlighted(markdown: MarkdownRenderer): void {
  const { highlight } = markdown.options
  const known = new Map<string, string>()
  markdown.options.highlight = (text, language, attributes) => {
    const key = JSON.stringify([text, language, attributes])
    const html = known.get(key) ?? highlight?.(text, language, attributes) ?? ''
    known.set(key, html)
    return html
  }
}

/** The `type` of an error is the address of its row in the tables of codes. */
function nameErrors(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push('error-codes', ({ tokens, env }) => {
    const page: string = env.realPath ?? env.path
    if (!page.endsWith('errors.md')) return
    for (const [index, { type, children }] of tokens.entries()) {
      const code = type === 'inline' && children?.length === 1 && children[0]?.type === 'code_inline' && children[0]
      const row = code && tokens.slice(0, index).findLast((token) => token.type === 'tr_open')
      if (row) row.attrSet('id', code.content)
    }
  })
}

function toAddress(path: string): string {
  const page = path === 'README.md' ? 'index.md' : path.replace(/^docs\//, '')
  if (page.endsWith('.md') && existsSync(join(docs, page))) return `/${page}`
  attachments.add(path)
  return `/${toAttachment(path)}`
}

function toAttachment(path: string): string {
  return `${path.replace(/^docs\//, '').replace(/^\./, '')}.txt`
}

/** Only if it differs: another build may be reading it. */
function writeIncluded(name: string, text: string): void {
  const path = join(root, name)
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}
