import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

/** Requirements of levels 1 and 2 in chapters 1 to 16 of OWASP ASVS 5.0.0. */
const requirements = 246

type Row = { id: string; level: string; state: string; how: string; shown: string[] }

const rows: Row[] = readFileSync('docs/security.md', 'utf8')
  .split('\n')
  .flatMap((line) => {
    const [, id, level, state, how, shown] = line.split('|').map((cell) => cell.trim())
    if (!id || !/^\d+\.\d+\.\d+$/.test(id)) return []
    return [{ id, level: level ?? '', state: state ?? '', how: how ?? '', shown: shown?.match(/[^`, ]+/g) ?? [] }]
  })

describe('docs/security.md', () => {
  it('has each requirement of OWASP ASVS 5.0, levels 1 and 2, once', () => {
    expect(rows).toHaveLength(requirements)
    expect(new Set(rows.map(({ id }) => id)).size).toBe(requirements)
    for (const { id, level, state, how } of rows) {
      expect(['1', '2'], id).toContain(level)
      expect(['met', '**not met**', 'n/a'], id).toContain(state)
      expect(how, id).not.toBe('')
    }
  })

  it('names existing evidence for each met requirement', () => {
    for (const { id, state, shown } of rows) {
      if (state === 'met') expect(shown.length, id).toBeGreaterThan(0)
      for (const path of shown) expect(existsSync(path), `${id}: ${path}`).toBe(true)
    }
  })

  it('leaves nothing of level 1 unmet', () => {
    expect(rows.filter(({ level, state }) => level === '1' && state === '**not met**')).toEqual([])
  })

  it('has correct counts', () => {
    const page = readFileSync('docs/security.md', 'utf8')
    for (const level of ['1', '2']) {
      const count = (state: string) => rows.filter((row) => row.level === level && row.state === state).length
      expect(page).toContain(`| level ${level} | ${count('met')} | ${count('**not met**')} | ${count('n/a')} |`)
    }
  })
})
