import { existsSync, readdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { blocksOf, codesIn, documents, readDocument, translations, withoutComments } from '../support/documents.ts'

/** All but docs/pt/index.md, which only introduces the others. */
const pages = translations.filter((page) => page !== 'docs/pt/index.md')

/** The READMEs of the SDKs, the examples and the plugins, such as examples/go/README.pt-BR.md. */
const readmes = ['.', 'examples', 'plugins']
  .filter(existsSync)
  .flatMap((folder) => readdirSync(folder).map((name) => `${folder}/${name}/README.pt-BR.md`))
  .filter(existsSync)

it('the pages that integrations and the daily operation need are in Portuguese', () => {
  expect(pages.length).toBeGreaterThanOrEqual(17)
  expect(pages.map(originalOf).filter((page) => !documents.includes(page))).toEqual([])
})

it.each([...pages, ...readmes])('%s has the headings, samples, tables and codes of the English page', (page) => {
  expect(describePage(page)).toEqual(describePage(originalOf(page)))
})

function originalOf(page: string): string {
  return page.replace('docs/pt/', 'docs/').replace(/\.pt-BR\.md$/, '.md')
}

/** The table of metrics is in English only, like the texts of `GET /metrics` that it repeats. */
function withoutMetrics(text: string): string {
  const [before = '', ...rest] = text.split(/^(?=## Metrics\n)/m)
  return before + rest.join('').replace(/(?:^\|.*\n)+/m, '')
}

function describePage(page: string) {
  const text = withoutMetrics(readDocument(page).replace(/^ *```.*?^ *```$/gms, ''))
  return {
    headings: [...text.matchAll(/^#+(?= )/gm)].map(([level]) => level),
    // The comments in them are translated.
    samples: blocksOf(page).map(({ language, text }) => ({ language, text: withoutComments(text) })),
    // Of each row, the codes and numbers of its first cell.
    rows: [...text.matchAll(/^\| *(.*?) *(?<!\\)\|/gm)].map(([, cell = '']) => cell.match(/`[^`]+`|\d+/g)),
    codes: [...new Set(codesIn(text))].toSorted(),
  }
}
