import { readFile } from 'node:fs/promises'

/**
 * Reads a JSON file. Null if there is none.
 *
 * @throws if it cannot be read or is not JSON, with the `remedy`. An error of reading keeps its `code`: when the
 * service starts, it shows advice for that code.
 */
export async function readJsonFile<Content>(path: string, remedy: string): Promise<Content | null> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    const { code } = error
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    const message = `${path} cannot be read (${code}): check that it is a file that this user may read. ${remedy}`
    throw Object.assign(new Error(message, { cause: error }), { code })
  })
  if (text === null) return null
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Error(`${path} is damaged: it is not JSON. ${remedy}`, { cause })
  }
}
