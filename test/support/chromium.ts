import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import sparticuz from '@sparticuz/chromium'

/**
 * A browser that npm brings, for Linux on x64; elsewhere the one that CHROMIUM_PATH names. Null where there is none that starts: what needs it is
 * then skipped, and it is said why. It is unpacked here, once, before anybody uses it.
 */
export async function findChromium(): Promise<string | null> {
  const named = process.env.CHROMIUM_PATH
  const isBrought = process.platform === 'linux' && process.arch === 'x64'
  try {
    const path = named ?? (isBrought ? await sparticuz.executablePath() : '')
    if (path === '') throw new Error('npm brings one for Linux on x64 only; CHROMIUM_PATH may name another')
    await promisify(execFile)(path, ['--version', '--no-sandbox'], { timeout: 30_000 })
    return path
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    process.stderr.write(`No browser, so what needs one is skipped: ${reason}\n`)
    return null
  }
}
