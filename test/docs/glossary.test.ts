import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { documents, inlineOf, readDocument } from '../support/documents.ts'

/** The lists of retired words, and what is not our prose: word lists, generated files, copies of other programs. */
const exempt =
  /^(?:package-lock\.json|src\/users\/common-words\.txt|bench\/peers\/|docs\/glossary\.md$|test\/docs\/glossary\.test\.ts$)/

const [, retiredTable = '', namesTable = ''] = readDocument('docs/glossary.md').split(/^## Retired (?:words|names)$/m)

const retired = wordsOf(retiredTable)
const retiredNames = new Set(wordsOf(namesTable))

/** Names of the interface or of a library, and those that mean "hold a lock", "look up" or "look like". */
const keptNames = new Set([
  ...['Hold', 'hold', 'WithdrawalHold', 'payment_held', 'held_returned', 'held_matched'],
  ...['holdInstanceLock', 'holdOnce', 'IconBook2', 'lookUp', 'looksLikeName', 'looksShowable'],
])

const texts = walk('.')
  .filter((path) => /\.(?:tsx?|m?js|php|py|go|md|sql|json|css|html|txt|ya?ml|tpl|service|example)$/.test(path))
  .filter((path) => !exempt.test(path))
  .map((path) => ({ path, text: readFileSync(path, 'utf8') }))

it('the glossary names retired words', () => {
  expect(retired.length).toBeGreaterThan(10)
  expect(findRetired('A bell rings,\nand it must be let  in again.')).toEqual(['1: bell', '2: let in again'])
})

it('no retired word is used', () => {
  const found = texts.flatMap(({ path, text }) => findRetired(text).map((place) => `${path}:${place}`))
  expect(found).toEqual([])
})

it('no file has the markers of an unfinished merge', () => {
  expect(texts.filter(({ text }) => /^(?:<{7}|>{7}) /m.test(text)).map(({ path }) => path)).toEqual([])
})

it('no name in the code has a retired part', () => {
  expect(findRetiredNames('let lookAgain = 1 // lookTwice\nselect held.look_at as "askedAt", \'told\'')).toEqual([
    ...['lookAgain', 'look_at', 'askedAt'],
  ])
  const code = texts.filter(({ path }) =>
    /^(?:src|simulator|sdk|dashboard|test|bench|scripts|migrations)\/.*\.(?:tsx?|mjs|sql)$/.test(path),
  )
  expect(code.length).toBeGreaterThan(700)
  expect(code.flatMap(({ path, text }) => findRetiredNames(text).map((name) => `${path}: ${name}`))).toEqual([])
})

it('files that documents name exist', () => {
  const named = [...documents, 'CONTRIBUTING.md', 'SECURITY.md', 'bench/README.md'].flatMap((document) =>
    inlineOf(document)
      .filter((code) => /^(?:src|docs|test|bench|scripts|simulator|sdk|dashboard|migrations)\/[\w./-]+$/.test(code))
      .map((path) => ({ document, path })),
  )
  expect(named.length).toBeGreaterThan(10)
  expect(named.filter(({ path }) => !existsSync(path))).toEqual([])
})

it('files that architecture.md names within src/ exist', () => {
  const named = inlineOf('docs/architecture.md').filter((code) => /^[a-z-]+\/[\w/-]+\.ts$/.test(code))
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter((path) => !existsSync(`src/${path}`) && !existsSync(path))).toEqual([])
})

it('decisions.md lists every decision under its number', () => {
  const listed = [...readDocument('docs/decisions.md').matchAll(/^(\d+)\. [^(]*\(decisions\/([\w-]+\.md)\)/gm)]
  expect(listed.map(([, , file]) => file)).toEqual(readdirSync('docs/decisions').toSorted())
  for (const [, number, file = ''] of listed) expect(file.slice(0, 4)).toBe(number?.padStart(4, '0'))
})

it('no table row is outside of a table', () => {
  expect(findLooseRows('| a |\n|---|\n| b |\n\ntext\n| c |')).toEqual([6])
  for (const document of [...documents, 'CONTRIBUTING.md', 'CHANGELOG.md', 'bench/README.md', 'bench/RESULTS.md'])
    expect(findLooseRows(readDocument(document)), document).toEqual([])
})

function walk(folder: string): string[] {
  const skipped = new Set(['node_modules', 'dist', 'data', 'coverage', '.git'])
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = folder === '.' ? entry.name : `${folder}/${entry.name}`
    if (entry.isDirectory()) return skipped.has(entry.name) ? [] : walk(path)
    return entry.isFile() ? [path] : []
  })
}

/** The first column of a table; a row may list several words. */
function wordsOf(table: string): string[] {
  return [...table.matchAll(/^\| (?!---)(.*?) \|/gm)].slice(1).flatMap(([, words = '']) => words.split(', '))
}

/** Names of more than one word, and those that are declared, in which a retired part occurs. */
function findRetiredNames(source: string): string[] {
  const code = source.replaceAll(/\/\*.*?\*\/|(?<!:)\/\/[^\n]*|--[^\n]*|'[^'\n]*'/gs, '')
  const names = code.match(/\b[A-Za-z]+(?:_[A-Za-z]|[a-z][A-Z])\w*|(?<=\b(?:const|let|function|type) )\w+/g) ?? []
  return [...new Set(names)].filter((name) => {
    const parts = name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? []
    return !keptNames.has(name) && parts.some((part) => retiredNames.has(part.toLowerCase()))
  })
}

/** Each retired word in a text, as "line: word". */
function findRetired(text: string): string[] {
  const pattern = new RegExp(`\\b(?:${retired.map((word) => word.replaceAll(' ', '\\s+')).join('|')})\\b`, 'gi')
  return [...text.matchAll(pattern)].map(
    ({ 0: word, index }) => `${text.slice(0, index).split('\n').length}: ${word.replaceAll(/\s+/g, ' ')}`,
  )
}

/** Numbers of lines that look like a table's row but follow a line of prose, outside of code blocks. */
function findLooseRows(text: string): number[] {
  const lines = text.replace(/^ *```.*?^ *```$/gms, (block) => block.replaceAll(/[^\n]/g, '')).split('\n')
  return lines.flatMap((line, index) => {
    const before = lines[index - 1] ?? ''
    return line.startsWith('|') && !/^(?:\||#|$)/.test(before) ? [index + 1] : []
  })
}
