import type { Histogram } from '../load/histogram.ts'

/** This many clients run these statements repeatedly. Each statement is a round trip. */
export type FloorJob = {
  path: string
  user: string
  database: string
  clients: number
  seconds: number
  statements: string[]
  /** The parameter rows. A client always uses the same one. */
  examples: FloorExample[]
}

/** The values of each statement, and the texts within them that become a new random UUID each time. */
export type FloorExample = { values: (string | null)[][]; renewedTexts: string[] }

export type FloorReport = { count: number; seconds: number; latency: Histogram; cpuMicros: number }
