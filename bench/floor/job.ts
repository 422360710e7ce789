import type { Histogram } from '../load/histogram.ts'

/** So many clients run these statements one after another, and again, each round trip for itself. */
export type FloorJob = {
  path: string
  user: string
  database: string
  clients: number
  seconds: number
  statements: { text: string; values: (string | null)[] }[]
  /** Texts within the values that are another random UUID in each round. */
  fresh: string[]
}

export type FloorReport = { count: number; seconds: number; latency: Histogram; cpuMicros: number }
