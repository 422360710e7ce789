import { expect, it } from 'vitest'
import { blocksOf, documents, inlineOf, readDocument, translations } from '../support/documents.ts'

/** A page that only introduces the others. */
const [, ...pages] = translations.toSorted(
  (one, other) => Number(other.includes('index')) - Number(one.includes('index')),
)

it('the pages that an integration needs first are in Portuguese', () => {
  expect(pages.length).toBeGreaterThanOrEqual(9)
  expect(pages.map(originalOf).filter((page) => !documents.includes(page))).toEqual([])
})

it.each(pages)('%s has the headings, samples, tables and codes of the English page', (page) => {
  expect(describePage(page)).toEqual(describePage(originalOf(page)))
})

function originalOf(page: string): string {
  return page.replace('docs/pt/', 'docs/')
}

function describePage(page: string) {
  const text = readDocument(page).replace(/^ *```.*?^ *```$/gms, '')
  return {
    headings: [...text.matchAll(/^#+(?= )/gm)].map(([level]) => level),
    samples: blocksOf(page).map(({ language, text }) => ({ language, text })),
    // Of each row, the codes and numbers of its first cell.
    rows: [...text.matchAll(/^\| *(.*?) *(?<!\\)\|/gm)].map(([, cell = '']) => cell.match(/`[^`]+`|\d+/g)),
    codes: [...new Set(inlineOf(page))].toSorted(),
  }
}
