import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The requests of the reference: a file of samples/ per language, with one sample per operation. A test runs them all.
 * They use what `docs/reference/index.md` sets up, such as the client, and variables named like the parameters.
 */
const languages = [
  { file: 'curl', title: 'curl' },
  { file: 'javascript', title: 'JavaScript' },
  { file: 'php', title: 'PHP' },
  { file: 'python', title: 'Python' },
  { file: 'go', title: 'Go' },
]

export type Sample = { title: string; fence: string; text: string }

/** The samples of each operation by its `operationId`, in the order of `languages`. */
export type Samples = Map<string, Sample[]>

export function readSamples(): Samples {
  const samples: Samples = new Map()
  for (const { file, title } of languages) {
    const path = join(import.meta.dirname, `samples/${file}.md`)
    for (const [, id = '', fence = '', text = ''] of readFileSync(path, 'utf8').matchAll(
      /^## (\w+)\n\n```(\w+)\n(.*?)^```$/gms,
    ))
      samples.set(id, [...(samples.get(id) ?? []), { title, fence, text }])
  }
  return samples
}
