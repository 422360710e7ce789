/** The language that a reader chooses in one group of samples is chosen in all others, and on all pages. */
export function shareLanguage(): void {
  addEventListener('click', ({ target }) => {
    if (!(target instanceof HTMLInputElement) || !target.matches('.vp-code-group input')) return
    const title = labelOf(target)
    if (title === undefined) return
    localStorage.setItem(storageKey, title)
    // Groups above may become higher or lower: the one that was clicked stays where it is.
    const { top } = target.getBoundingClientRect()
    chooseLanguage(title)
    scrollBy({ top: target.getBoundingClientRect().top - top, behavior: 'instant' })
  })
}

/** Chooses the reader's language in all groups of the page that is shown. */
export function restoreLanguage(): void {
  const title = localStorage.getItem(storageKey)
  if (title !== null) chooseLanguage(title)
}

const storageKey = 'guiche-sample-language'

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
