import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'

const script = resolve('scripts/release.mjs')
const { version: present, workspaces } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  version: string
  workspaces: string[]
}

/** Texts that name the version. */
const texts = [
  'docs/sdk.md',
  'docs/installation.md',
  'sdk/src/http.ts',
  'plugins/medusa/package.json',
  'sdk-php/composer.json',
  'sdk-php/src/Guiche.php',
  'plugins/woocommerce/includes/Plugin.php',
  'plugins/woocommerce/guiche-for-woocommerce.php',
  'sdk-python/pyproject.toml',
  'sdk-python/src/guiche/_http.py',
  'deploy/helm/guiche/Chart.yaml',
]
/** A repository with the files that a release changes. */
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'guiche-release-'))
  const manifests = ['.', ...workspaces].map((workspace) => join(workspace, 'package.json'))
  for (const path of [...manifests, 'package-lock.json', 'docs/openapi.json', ...texts])
    cpSync(path, join(folder, path), { recursive: true })
  write('CHANGELOG.md', '# Changelog\n\n## Unreleased\n\n- Something new.\n')
  git('init', '--quiet', '--initial-branch', 'main')
  git('config', 'user.name', 'A test')
  git('config', 'user.email', 'test@example.com')
  git('add', '.')
  git('commit', '--quiet', '--message', 'Begin')
})
afterAll(() => rmSync(folder, { recursive: true }))

it('a release sets every version, dates the changelog, commits and tags; an unclean tree is refused', () => {
  write('notes.txt', 'not committed')
  expect(release('99.0.0')).toEqual([1, expect.stringContaining('not clean')])
  rmSync(join(folder, 'notes.txt'))
  expect(release('99.0.0')).toEqual([0, expect.stringContaining('git push origin main v99.0.0')])
  expect(read('CHANGELOG.md')).toMatch(/\n## Unreleased\n\n## 99\.0\.0 - \d{4}-\d\d-\d\d\n\n- Something new\.\n$/)
  for (const path of [...texts, ...workspaces.map((one) => `${one}/package.json`)])
    expect([path, read(path).includes(present), read(path).includes('99.0.0')]).toEqual([path, false, true])
  const { version, packages } = JSON.parse(read('package-lock.json'))
  expect([version, ...['', ...workspaces].map((one) => packages[one].version)]).toEqual(
    Array(workspaces.length + 2).fill('99.0.0'),
  )
  expect(JSON.parse(read('docs/openapi.json')).info.version).toBe('99.0.0')
  expect([git('status', '--porcelain'), git('describe')]).toEqual(['', 'v99.0.0'])
  // Nothing has changed since.
  expect(release('99.0.1')).toEqual([1, expect.stringContaining('nothing under "## Unreleased"')])

  // The documents need not name the package files.
  for (const path of ['docs/sdk.md', 'docs/installation.md']) write(path, read(path).replaceAll('99.0.0', 'x'))
  write('CHANGELOG.md', '# Changelog\n\n## Unreleased\n\n- Something new.\n')
  git('commit', '--quiet', '--all', '--message', 'Change something')
  expect(release('99.0.1')).toEqual([0, expect.stringContaining('git push origin main v99.0.1')])
})

function release(version: string): [status: number | null, output: string] {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, version], { cwd: folder, encoding: 'utf8' })
  return [status, stdout + stderr]
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: folder, encoding: 'utf8' }).trim()
}

function read(path: string): string {
  return readFileSync(join(folder, path), 'utf8')
}

function write(path: string, text: string): void {
  writeFileSync(join(folder, path), text)
}
