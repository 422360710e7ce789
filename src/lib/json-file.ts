import { readFile } from 'node:fs/promises'

/**
 * Null if there is no such file.
 *
 * @throws if it is not JSON, with the `remedy`
 */
export async function readJsonFile<Content>(path: string, remedy: string): Promise<Content | null> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  if (text === null) return null
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Error(`${path} is damaged: it is not JSON. ${remedy}`, { cause })
  }
}
