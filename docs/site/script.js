// The guide reads as well without it: this opens the contents on a wide window, finds, and copies.
const root = document.documentElement.dataset.root ?? ''

const contents = document.querySelector('nav details')
const wide = matchMedia('(width >= 900px)')
const unfold = () => {
  contents.open = wide.matches
}
unfold()
wide.addEventListener('change', unfold)
// Where one is stands in sight in a long list of contents; the page itself stays at its top.
const nav = document.querySelector('nav')
const here = nav.querySelector('[aria-current]')
if (wide.matches && here) nav.scrollTop = here.offsetTop - nav.clientHeight / 2

for (const pre of document.querySelectorAll('pre')) {
  const block = document.createElement('div')
  block.className = 'block'
  pre.replaceWith(block)
  block.append(pre)
  if (!navigator.clipboard) continue
  const button = document.createElement('button')
  button.className = 'copy'
  button.textContent = 'Copy'
  button.addEventListener('click', () => {
    void navigator.clipboard.writeText(pre.textContent.trimEnd()).then(() => {
      button.textContent = 'Copied'
      setTimeout(() => {
        button.textContent = 'Copy'
      }, 1500)
    })
  })
  block.append(button)
}

const input = document.querySelector('.search input')
const found = document.querySelector('.found')
input.hidden = false
input.addEventListener('focus', load, { once: true })
input.addEventListener('input', show)
input.addEventListener('keydown', (event) => {
  if (event.key === 'ArrowDown') found.querySelector('a')?.focus()
  if (event.key === 'Enter') found.querySelector('a')?.click()
})
addEventListener('keydown', (event) => {
  if (event.key === '/' && document.activeElement === document.body) {
    event.preventDefault()
    input.focus()
  }
  if (event.key === 'Escape') {
    input.value = ''
    show()
  }
  const step = { ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling' }[event.key]
  const item = document.activeElement.closest('.found li')
  if (!step || !item) return
  event.preventDefault()
  const target = item[step]?.querySelector('a') ?? (event.key === 'ArrowUp' ? input : null)
  target?.focus()
})
addEventListener('click', (event) => {
  if (!event.target.closest('.search')) found.hidden = true
})

/** What is searched in comes once somebody is about to search. */
function load() {
  const script = document.createElement('script')
  script.src = `${root}search.js`
  script.addEventListener('load', show)
  document.head.append(script)
}

function show() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean)
  found.hidden = words.length === 0 || !window.guide
  if (found.hidden) return
  const scored = window.guide
    .map((entry) => ({ entry, score: score(entry, words) }))
    .filter((one) => one.score > 0)
    .sort((one, other) => other.score - one.score)
    .slice(0, 10)
  found.replaceChildren(...(scored.length > 0 ? scored.map(({ entry }) => toItem(entry, words)) : [nothing()]))
}

/** Each word must be there; a heading says more than the text beneath it. */
function score({ page, heading, body }, words) {
  let sum = 0
  for (const word of words) {
    const points =
      (heading.toLowerCase().includes(word) ? 8 : 0) +
      (page.toLowerCase().includes(word) ? (heading === '' ? 10 : 3) : 0) +
      Math.min(3, body.toLowerCase().split(word).length - 1)
    if (points === 0) return 0
    sum += points
  }
  return sum
}

function toItem({ page, heading, path, body }, words) {
  const item = document.createElement('li')
  const link = document.createElement('a')
  const title = document.createElement('strong')
  const text = document.createElement('span')
  const at = Math.max(0, body.toLowerCase().indexOf(words[0]) - 40)
  link.href = root + path
  link.addEventListener('click', () => {
    found.hidden = true
  })
  title.textContent = heading === '' ? page : `${page}: ${heading}`
  text.textContent = `${at > 0 ? '…' : ''}${body.slice(at, at + 120)}…`
  link.append(title, text)
  item.append(link)
  return item
}

function nothing() {
  const item = document.createElement('li')
  item.className = 'none'
  item.textContent = 'Nothing is found. Try another word.'
  return item
}
