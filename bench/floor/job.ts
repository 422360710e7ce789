import type { Histogram } from '../load/histogram.ts'

/** So many clients run these statements one after another, and again, each round trip for itself. */
export type FloorJob = {
  path: string
  user: string
  database: string
  clients: number
  seconds: number
  statements: string[]
  /** What they are run with: a client by one of these, always the same. */
  examples: FloorExample[]
}

/** The values of each statement, and the texts within them that are another random UUID each time. */
export type FloorExample = { values: (string | null)[][]; fresh: string[] }

export type FloorReport = { count: number; seconds: number; latency: Histogram; cpuMicros: number }
