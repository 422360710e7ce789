import { readdirSync, readFileSync } from 'node:fs'

export type Block = { document: string; line: number; language: string; text: string }

const pages = readdirSync('docs', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md') && !name.startsWith('.vitepress/'))
  .map((name) => `docs/${name}`)
  .sort()

/** The documentation in English: the READMEs of the project and of its JavaScript SDK, and docs/. */
export const documents = ['README.md', 'sdk/README.md', ...pages.filter((page) => !page.startsWith('docs/pt/'))]

/** The pages of docs/ in Portuguese. */
export const translations = pages.filter((page) => page.startsWith('docs/pt/'))

export function readDocument(document: string): string {
  return readFileSync(document, 'utf8')
}

/** The fenced blocks in order, including those within lists. */
export function blocksOf(document: string): Block[] {
  const text = readDocument(document)
  return [...text.matchAll(/^( *)```(\w*)(?: \[[^\]\n]*\])?\n(.*?)^\1```$/gms)].map(
    ({ index, 1: indent = '', 2: language = '', 3: inside = '' }) => ({
      document,
      line: text.slice(0, index).split('\n').length,
      language,
      text: inside.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }),
  )
}

/** A sample without the comments of its language, `//` or `#`, which start a line or follow a space. */
export function withoutComments(text: string): string {
  return text.replaceAll(/^ *(?:\/\/|#) .*\n| *(?<= )(?:\/\/|#) .*$/gm, '')
}

/** Texts between single backticks outside of blocks, tables included. */
export function inlineOf(document: string): string[] {
  return codesIn(readDocument(document).replace(/^ *```.*?^ *```$/gms, ''))
}

/** Texts between single backticks. One may continue on the next line. */
export function codesIn(text: string): string[] {
  return [...text.matchAll(/`((?:[^`\n]|\n(?!\n))+)`/g)].map(([, inside = '']) =>
    inside.replaceAll('\\|', '|').replaceAll(/\s*\n\s*/g, ' '),
  )
}

/** The rows of the table below a heading, without its header. Cells are not interpreted. */
export function rowsUnder(document: string, heading: string): string[][] {
  const [, section = ''] = readDocument(document).split(new RegExp(`^#+ ${heading}$`, 'm'))
  const [own = ''] = section.split(/^#/m)
  return [...own.matchAll(/^\|(?!---)(.*)\|$/gm)]
    .map(([, row = '']) => row.split(/(?<!\\)\|/).map((cell) => cell.trim()))
    .slice(1)
}
