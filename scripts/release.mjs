import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

/**
 * `npm run release -- <version>`: makes the commit and the tag of a release, on a clean main. It pushes nothing.
 * CONTRIBUTING.md has the steps before and after.
 */
const [version = ''] = process.argv.slice(2)
const { version: former, workspaces } = readJson('package.json')
const changelog = readFileSync('CHANGELOG.md', 'utf8')
const heading = /^## Unreleased\n(?=\s*\S)(?!\s*## )/m

refuseIf(!/^\d+\.\d+\.\d+$/.test(version), 'Usage: npm run release -- <version>, such as 0.2.0')
refuseIf(isLower(version, former), `${version} is lower than the present version, ${former}.`)
refuseIf(git('branch', '--show-current') !== 'main', 'A release is made on main.')
refuseIf(git('status', '--porcelain') !== '', 'The tree is not clean: commit or remove the changes first.')
refuseIf(git('tag', '--list', `v${version}`) !== '', `The tag v${version} exists already.`)
refuseIf(!heading.test(changelog), 'CHANGELOG.md has nothing under "## Unreleased".')

for (const folder of ['.', ...workspaces])
  writeJson(`${folder}/package.json`, (json) => Object.assign(json, { version }))
writeJson('package-lock.json', (lock) => {
  lock.version = version
  for (const folder of ['', ...workspaces]) lock.packages[folder].version = version
})
writeJson('docs/openapi.json', (document) => Object.assign(document.info, { version }))
const chart = 'deploy/helm/guiche/Chart.yaml'
writeFileSync(chart, readFileSync(chart, 'utf8').replaceAll(`ersion: ${former}`, `ersion: ${version}`))
// The SDKs in PHP and Python, and the plugins.
for (const [path, before, after] of [
  ['plugins/medusa/package.json', `"version": "${former}"`, `"version": "${version}"`],
  ['sdk-php/composer.json', `"version": "${former}"`, `"version": "${version}"`],
  ['sdk-python/pyproject.toml', `\nversion = "${former}"\n`, `\nversion = "${version}"\n`],
  ['sdk-python/src/guiche/_http.py', `"guiche-python/${former}"`, `"guiche-python/${version}"`],
  ['sdk-php/src/Guiche.php', `VERSION = '${former}'`, `VERSION = '${version}'`],
  ['plugins/woocommerce/includes/Plugin.php', `VERSION = '${former}'`, `VERSION = '${version}'`],
  ['plugins/woocommerce/guiche-for-woocommerce.php', `Version: ${former}`, `Version: ${version}`],
])
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(before, after))
// The package files, as the documents name them, and the SDK's user agent.
for (const [before, after] of [
  [`guiche-${former}.tgz`, `guiche-${version}.tgz`],
  [`guiche-sdk-${former}.tgz`, `guiche-sdk-${version}.tgz`],
  [`guiche-sdk/${former}`, `guiche-sdk/${version}`],
])
  for (const path of listFilesWith(before)) writeFileSync(path, readFileSync(path, 'utf8').replaceAll(before, after))
const today = new Date().toISOString().slice(0, 10)
writeFileSync('CHANGELOG.md', changelog.replace(heading, `## Unreleased\n\n## ${version} - ${today}\n`))

git('commit', '--quiet', '--all', '--message', `Release ${version}`)
git('tag', '--annotate', `v${version}`, '--message', `Guichê ${version}`)
process.stdout.write(`Release ${version} is committed and tagged. To publish it: git push origin main v${version}\n`)

function git(...args) {
  return execFileSync('git', args, { encoding: 'utf8' }).trim()
}

/** `git grep` exits with 1 when no file has the text, which is no error. */
function listFilesWith(text) {
  const { status, stdout, stderr } = spawnSync('git', ['grep', '-lF', text], { encoding: 'utf8' })
  if (status !== 0 && status !== 1) throw new Error(`git grep failed: ${stderr}`)
  return stdout.split('\n').filter((path) => path !== '')
}

function refuseIf(isRefused, reason) {
  if (!isRefused) return
  process.stderr.write(`${reason}\n`)
  process.exit(1)
}

function isLower(one, other) {
  const [a, b] = [one, other].map((text) => text.split('.').map(Number))
  const at = a.findIndex((number, index) => number !== b[index])
  return at !== -1 && a[at] < b[at]
}

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}

function writeJson(path, change) {
  const json = readJson(path)
  change(json)
  writeFileSync(path, `${JSON.stringify(json, null, 2)}\n`)
}
