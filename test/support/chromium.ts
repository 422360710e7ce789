import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import sparticuz from '@sparticuz/chromium'

/**
 * The path of a browser: CHROMIUM_PATH, else the one from npm, which is for Linux x64 only. Null if it does not start:
 * tests that need it are then skipped, with the reason printed. It is unpacked here, once, before any test uses it.
 */
export async function findChromium(): Promise<string | null> {
  const named = process.env.CHROMIUM_PATH
  const isPackaged = process.platform === 'linux' && process.arch === 'x64'
  try {
    const path = named ?? (isPackaged ? await sparticuz.executablePath() : '')
    if (path === '') throw new Error('npm has a browser for Linux x64 only; CHROMIUM_PATH may name another')
    await promisify(execFile)(path, ['--version', '--no-sandbox'], { timeout: 30_000 })
    return path
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    process.stderr.write(`Tests that need a browser are skipped: ${reason}\n`)
    return null
  }
}
