import { cp, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { buildGuide, type Guide, makeGuide } from '../../scripts/guide.ts'
import { startTestService, type TestService } from '../support/service.ts'

let guide: Guide
let service: TestService
let copy: string
beforeAll(async () => {
  guide = await makeGuide('.')
  service = await startTestService()
  copy = await mkdtemp(join(tmpdir(), 'guiche-guide-'))
  for (const name of [
    'README.md',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    '.env.example',
    'docs',
    'scripts',
    'bench',
    'sdk',
  ])
    await cp(name, join(copy, name), { recursive: true, filter: (path) => !/node_modules|dist$/.test(path) })
})
afterAll(async () => {
  await service.stop()
  await rm(copy, { recursive: true, force: true })
})

it('has no broken link or anchor', () => {
  expect(guide.faults).toEqual([])
})

it('renders every table: no paragraph begins with a pipe', () => {
  for (const [path, content] of guide.files) {
    if (path.endsWith('.html')) expect(String(content).match(/<p>\s*\|[^<]*/)?.[0], path).toBeUndefined()
  }
})

it('finds broken links', async () => {
  await writeFile(
    join(copy, 'docs/idempotency.md'),
    '# Idempotency\n\n[a](nowhere.md) [b](money.md#nothing) [c](money.md#cents) ![d](pictures/none.png) [e](#none)\n',
  )
  expect((await makeGuide(copy)).faults.filter((fault) => fault.startsWith('docs/idempotency.md'))).toEqual([
    'docs/idempotency.md: there is no nowhere.md',
    'docs/idempotency.md: there is no pictures/none.png',
    'docs/idempotency.md: docs/money.md has no heading #nothing',
    'docs/idempotency.md: docs/idempotency.md has no heading #none',
  ])
})

it('has a page of every document', async () => {
  const names = await readdir('docs', { recursive: true })
  const pages = names.filter((name) => name.endsWith('.md')).map((name) => name.replace(/md$/, 'html'))
  expect(pages.length).toBeGreaterThan(30)
  expect(pages.filter((page) => !guide.files.has(page))).toEqual([])
})

it('loads nothing from other hosts, and has no inline style or script', () => {
  for (const [path, content] of guide.files) {
    if (!path.endsWith('.html')) continue
    const html = String(content)
    expect(html.match(/(?:src|<link[^>]*href)="(?:[a-z]+:|\/)[^"]*"/g), path).toBeNull()
    expect(html.match(/<style|\sstyle=|<script>|\son\w+=/g), path).toBeNull()
  }
})

it('is built again only if one of its sources has changed', async () => {
  const into = join(copy, 'dist/guide')
  expect(await buildGuide({ root: copy, into })).toBe(true)
  const before = await stat(join(into, 'index.html'))
  expect(await buildGuide({ root: copy, into })).toBe(false)
  expect((await stat(join(into, 'index.html'))).mtimeMs).toBe(before.mtimeMs)
  await writeFile(join(copy, 'docs/money.md'), '# Money\n\nIs made of cents.\n')
  expect(await buildGuide({ root: copy, into })).toBe(true)
})

it('is left out without documents', async () => {
  expect(await buildGuide({ root: join(copy, 'sdk'), into: join(copy, 'none') })).toBe(false)
})

it('is served with the API, which links to it', async () => {
  const front = await service.call('/guide/', { token: null })
  expect(front.status).toBe(200)
  expect(front.headers.get('content-type')).toMatch(/^text\/html/)
  expect(front.headers.get('content-security-policy')).not.toContain('unsafe')
  const paths = ['', 'index.html', 'webhooks.html', 'decisions/0001-postgresql-alone.html', 'style.css', 'search.js']
  for (const path of paths) expect((await service.call(`/guide/${path}`, { token: null })).status, path).toBe(200)
  for (const path of ['nothing.html', '../package.json', '..%2fpackage.json', 'decisions', '%00'])
    expect((await service.call(`/guide/${path}`, { token: null })).status, path).toBe(404)
  const document = await service.call<{ info: { description: string } }>('/openapi.json', { token: null })
  expect(document.body.info.description).toContain('](/guide/)')
})
