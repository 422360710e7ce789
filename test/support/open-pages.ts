import type { Page } from 'playwright-core'
import { afterEach } from 'vitest'

/** The pages of visits that are not closed, and the problems that they reported. */
export const openPages = new Set<{ page: Page; pageErrors: string[] }>()

/** A failed test reports what its pages show, and loads them again: the next test has to begin without open dialogs. */
export function printOpenPages(): void {
  afterEach(async ({ task }) => {
    if (task.result?.state !== 'fail') return
    for (const { page, pageErrors } of openPages) {
      if (page.isClosed()) continue
      const shown = await page.locator('body').ariaSnapshot({ timeout: 5_000 }).catch(String)
      process.stderr.write(
        `After "${task.name}", ${page.url()} shows:\n${[shown.slice(0, 5_000), ...pageErrors].join('\n')}\n`,
      )
      await page.reload()
    }
  })
}
