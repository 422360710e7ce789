/** The language that a reader chooses in one group of samples is chosen in all others, and on all pages. */
export function shareLanguage(): void {
  addEventListener('click', ({ target }) => {
    if (!(target instanceof HTMLInputElement) || !target.matches('.vp-code-group input')) return
    const title = labelOf(target)
    if (title === undefined) return
    storeLanguage(title)
    // Groups above may change their height. The page is scrolled by the difference, so that the clicked group stays at
    // the same place on the screen.
    const { top } = target.getBoundingClientRect()
    chooseLanguage(title)
    scrollBy({ top: target.getBoundingClientRect().top - top, behavior: 'instant' })
  })
}

/** Chooses the reader's language in all groups of the page that is shown. */
export function restoreLanguage(): void {
  const title = readLanguage()
  if (title !== null) chooseLanguage(title)
}

const storageKey = 'guiche-sample-language'

/** A browser that blocks the data of sites throws at each use of localStorage: the choice then ends with the page. */
function storeLanguage(title: string): void {
  try {
    localStorage.setItem(storageKey, title)
  } catch {}
}

function readLanguage(): string | null {
  try {
    return localStorage.getItem(storageKey)
  } catch {
    return null
  }
}

function chooseLanguage(title: string): void {
  for (const group of document.querySelectorAll('.vp-code-group')) {
    const inputs = [...group.querySelectorAll('input')]
    const chosen = inputs.findIndex((input) => labelOf(input) === title)
    const input = inputs[chosen]
    if (input === undefined) continue
    input.checked = true
    for (const [index, block] of [...(group.querySelector('.blocks')?.children ?? [])].entries())
      block.classList.toggle('active', index === chosen)
  }
}

function labelOf(input: HTMLInputElement): string | undefined {
  return input.labels?.[0]?.dataset.title
}
