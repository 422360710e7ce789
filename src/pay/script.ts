/**
 * The page works without this script. It adds the copy button, the countdown, and an update as soon as the service
 * reports a change: it inserts the same card that reloading the page would show. In a frame it also notifies the
 * page around it, if that page is on one of the merchant's sites.
 */
export const script = `
const find = (name) => document.querySelector(name)
let card, endsAt, source, timer, said, retry, isReading, isStale
const shop = decodeURIComponent(location.hash.slice(1))
const isFramed = parent !== window
const origin = isFramed && (find('main').dataset.origins || '').split(' ').includes(shop) ? shop : null
const say = (guiche, more) => origin && parent.postMessage({ guiche, ...more }, origin)

function begin() {
  card = find('article')
  endsAt = Date.now() + card.dataset.seconds * 1000
  const button = find('[data-copied]')
  if (button) {
    button.hidden = false
    button.onclick = () => copy(button)
  }
  const print = find('.print')
  if (print && !isFramed) {
    print.hidden = false
    print.onclick = () => window.print()
  }
  const { state } = card.dataset
  if (state !== said && state !== 'waiting' && state !== 'preparing') say(state)
  said = state
  if (!card.hasAttribute('data-open')) {
    clearInterval(timer)
    if (source) source.close()
  }
  count()
}

function count() {
  const shown = find('[data-left]')
  if (!shown) return
  const left = Math.max(0, Math.floor((endsAt - Date.now()) / 1000))
  const two = (number) => String(number).padStart(2, '0')
  const minutes = Math.floor(left / 60) % 60
  const hours = Math.floor(left / 3600)
  shown.textContent = (hours ? hours + ':' + two(minutes) : minutes) + ':' + two(left % 60)
  shown.parentElement.hidden = false
  card.toggleAttribute('data-soon', left < 120)
}

async function copy(button) {
  const code = find('#code')
  const announced = find('#announced')
  const label = button.firstElementChild
  let words = button.dataset.copied
  try {
    await navigator.clipboard.writeText(code.textContent)
  } catch {
    getSelection().selectAllChildren(code)
    if (!document.execCommand('copy')) words = button.dataset.selected
  }
  find('.next').hidden = false
  if (navigator.vibrate) navigator.vibrate(40)
  if (button.classList.contains('done')) return
  const before = label.textContent
  label.textContent = announced.textContent = words
  button.classList.add('done')
  setTimeout(() => {
    label.textContent = before
    button.classList.remove('done')
    if (announced.textContent === words) announced.textContent = ''
  }, 4000)
}

// One request at a time: no older answer replaces a newer one. A change during a request is read after it.
async function refresh() {
  if (isReading) {
    isStale = true
    return
  }
  isReading = true
  do {
    isStale = false
    await read()
  } while (isStale)
  isReading = false
}

async function read() {
  clearTimeout(retry)
  if (!card.hasAttribute('data-open')) return
  const request = new AbortController()
  const limit = setTimeout(() => request.abort(), 15000)
  try {
    const answer = await fetch(location.pathname, { cache: 'no-store', signal: request.signal })
    if (!answer.ok) throw answer.status
    const next = new DOMParser().parseFromString(await answer.text(), 'text/html')
    const fresh = next.querySelector('article')
    const isOther = fresh.dataset.state !== card.dataset.state
    if (!isOther && fresh.hasAttribute('data-open')) {
      endsAt = Date.now() + fresh.dataset.seconds * 1000
      return
    }
    card.replaceWith(document.adoptNode(fresh))
    document.title = next.title
    if (isOther) find('#announced').textContent = find('h1').textContent
    begin()
  } catch {
    if (!timer) retry = setTimeout(refresh, 3000)
  } finally {
    clearTimeout(limit)
  }
}

function poll() {
  clearTimeout(retry)
  clearInterval(timer)
  timer = setInterval(refresh, 5000)
}

if (isFramed) {
  document.documentElement.dataset.framed = ''
  say('ready')
  addEventListener('keydown', ({ key }) => key === 'Escape' && say('closed'))
  new ResizeObserver(() => say('size', { height: find('main').offsetHeight + 32 })).observe(find('main'))
}
begin()
setInterval(count, 1000)
if (card.hasAttribute('data-open')) {
  if (window.EventSource) {
    source = new EventSource(location.pathname + '/events')
    source.onmessage = ({ data }) => {
      if (data !== card.dataset.state) refresh()
    }
    source.onerror = () => {
      if (source.readyState === EventSource.CLOSED) poll()
    }
  } else poll()
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) refresh()
  })
}
`
