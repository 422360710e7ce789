import type { Histogram } from '../load/histogram.ts'

/**
 * How PostgreSQL's own maximum is measured for the rows of a create: `clients` connections repeat `statements`, one
 * round trip each, for `seconds`.
 */
export type BaselineJob = {
  path: string
  user: string
  database: string
  clients: number
  seconds: number
  statements: string[]
  /** Sets of parameters. Each client keeps to one of them. */
  examples: BaselineExample[]
}

/**
 * `values`: the parameters of each statement. `renewedTexts`: the texts in them that become a new random UUID each
 * time.
 */
export type BaselineExample = { values: (string | null)[][]; renewedTexts: string[] }

export type BaselineReport = { count: number; seconds: number; latency: Histogram; cpuMicros: number }
