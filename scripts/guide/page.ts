import { posix } from 'node:path'
import { escapeHtml } from './highlight.ts'

export type Heading = { level: number; id: string; text: string }

export type Page = {
  /** Its path in the site, such as `decisions/0001-postgresql-alone.html`. */
  path: string
  title: string
  headings: Heading[]
  html: string
}

export type Chapter = { title: string; pages: Page[] }

/** A complete page around its content. All addresses are relative: it works under any path, and from a folder. */
export function renderPage(page: Page, chapters: Chapter[]): string {
  const to = (path: string) => posix.relative(posix.dirname(page.path), path) || posix.basename(path)
  const ordered = chapters.flatMap(({ pages }) => pages)
  const place = ordered.indexOf(page)
  const next = place === -1 ? undefined : ordered[place + 1]
  const last = ordered[place - 1]
  const isFirst = place === 0
  const title = isFirst ? `${page.title}: a self-hosted PIX payment gateway` : `${page.title} · Guichê`
  return `<!doctype html>
<html lang="en" data-root="${to('index.html').replace('index.html', '')}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="${to('icon.svg')}">
<link rel="stylesheet" href="${to('style.css')}">
<script src="${to('script.js')}" defer></script>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="brand" href="${to('index.html')}"><img src="${to('icon.svg')}" width="28" height="28" alt="">Guichê</a>
<div class="search" role="search"><input type="search" placeholder="Search" aria-label="Search the guide" autocomplete="off" hidden><ol class="found" hidden></ol></div>
</header>
<div class="frame">
<nav aria-label="Guide"><details open><summary>Contents</summary>${chapters.map((chapter) => renderChapter(chapter, page, to)).join('')}</details></nav>
<main id="content" tabindex="-1">
<article>${page.html}</article>
<footer>${link('Before', last, to)}${link('Next', next, to)}</footer>
</main>
<aside aria-label="On this page">${renderContents(page)}</aside>
</div>
</body>
</html>
`
}

function renderChapter({ title, pages }: Chapter, current: Page, to: (path: string) => string): string {
  const items = pages.map((page) => {
    const mark = page === current ? ' aria-current="page"' : ''
    return `<li><a href="${to(page.path)}"${mark}>${escapeHtml(page.path === 'index.html' ? 'Overview' : page.title)}</a></li>`
  })
  return `<h2>${escapeHtml(title)}</h2><ul>${items.join('')}</ul>`
}

function renderContents({ headings }: Page): string {
  const shown = headings.filter(({ level }) => level === 2 || level === 3)
  if (shown.length < 2) return ''
  const items = shown.map(
    ({ level, id, text }) => `<li class="level-${level}"><a href="#${id}">${escapeHtml(text)}</a></li>`,
  )
  return `<h2>On this page</h2><ul>${items.join('')}</ul>`
}

function link(label: string, page: Page | undefined, to: (path: string) => string): string {
  if (!page) return '<span></span>'
  const title = page.path === 'index.html' ? 'Overview' : page.title
  return `<a href="${to(page.path)}"><small>${label}</small>${escapeHtml(title)}</a>`
}
