import { expect, it } from 'vitest'
import type { Db } from '../../src/db/sql.ts'
import { withPlan } from './plans.ts'

it('refuses work that sends no statement: its plan would have no rows, and pass any limit', async () => {
  const query = async () => [
    { 'QUERY PLAN': [{ Plan: { 'Node Type': 'Result', 'Actual Rows': 1, 'Actual Loops': 1 } }] },
  ]
  await expect(withPlan({ query } as unknown as Db, async () => ({}))).rejects.toThrow('sent no statement')
})
