import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../test/support/database.ts'
import { readConfig } from './config.ts'
import { commonEnvironment, type Environment, enterEnvironment, environmentOf } from './environment.ts'
import { warnOfUnsafeSettings } from './service.ts'

it('warns of real money in the embedded PostgreSQL', () => {
  const warnings = (environment: Environment, databaseUrl = '') => {
    const lines: unknown[] = []
    const config = readConfig({ DATABASE_URL: databaseUrl })
    warnOfUnsafeSettings({ config, environment, log: { warn: (line: unknown) => lines.push(line) } })
    return lines
  }
  expect(warnings('production')).toEqual([expect.stringContaining('embedded PostgreSQL')])
  expect(warnings('production', 'postgres://127.0.0.1/guiche')).toEqual([])
  for (const environment of ['simulated', 'sandbox'] as const) expect(warnings(environment)).toEqual([])
})

it.each([
  ['', true],
  ['?sslmode=disable', true],
  ['?ssl=0', true],
  ['?sslmode=disable&ssl=true', true],
  ['?sslmode=prefer', false],
  ['?sslmode=require', false],
  ['?sslmode=verify-full', false],
  ['?ssl=true', false],
  ['?ssl=no-verify', false],
  ['?sslrootcert=/etc/ca.pem', false],
])('warns of a database on another machine without TLS: %s %s', (query, isWarned) => {
  const lines: unknown[] = []
  const config = readConfig({ DATABASE_URL: `postgres://db.example.com/guiche${query}` })
  warnOfUnsafeSettings({ config, environment: 'sandbox', log: { warn: (line: unknown) => lines.push(line) } })
  expect(lines).toEqual(isWarned ? [expect.stringContaining('without TLS')] : [])
})

describe('a database', () => {
  let database: TestDatabase

  beforeEach(async () => {
    database = await createTestDatabase()
  })
  afterEach(async () => await database.drop())

  const all: Environment[] = ['simulated', 'sandbox', 'production']

  it.each(all)('that was used with %s refuses every other environment', async (first) => {
    await enterEnvironment(database.db, first)
    await enterEnvironment(database.db, first)
    for (const other of all.filter((one) => one !== first))
      await expect(enterEnvironment(database.db, other)).rejects.toThrow(/^This database belongs to .*DATABASE_URL/)
  })

  it('takes only one environment when services of several start at the same time', async () => {
    const { db } = database
    const entered = await Promise.allSettled(all.map(async (one) => await enterEnvironment(db, one)))
    expect(entered.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })
})

describe('an account of ACQUIRERS_FILE', () => {
  const at = (environment: 'production' | 'sandbox', baseUrl: string) => ({ environment, hosts: { baseUrl } })

  it.each([
    ['sandbox', 'https://pix-h.example.com', 'sandbox'],
    ['production', 'https://pix.example.com', 'production'],
    // A tunnel to the PSP.
    ['production', 'https://127.0.0.1:8443', 'production'],
    ['sandbox', 'http://127.0.0.1:3001', 'simulated'],
    ['sandbox', 'https://localhost:3001/', 'simulated'],
    ['sandbox', 'http://[::1]:3001', 'simulated'],
    ['sandbox', 'https://127.0.0.1.example.com', 'sandbox'],
  ] as const)('with environment %s at %s belongs to %s', (environment, baseUrl, found) => {
    expect(environmentOf(at(environment, baseUrl))).toBe(found)
  })

  it('must have the same environment as all others', () => {
    const real = { name: 'efi', ...at('production', 'https://pix.example.com') }
    const test = { name: 'inter', ...at('sandbox', 'https://pix-h.example.com') }
    expect(commonEnvironment([real, { ...real, name: 'efi-2' }])).toBe('production')
    expect(() => commonEnvironment([real, test])).toThrow(
      'ACQUIRERS_FILE has acquirers of several environments: efi (production), inter (sandbox).',
    )
  })
})
