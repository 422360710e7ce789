/**
 * What a shop's page loads to show the payment page in a dialog or in an element of its own. The frame tells the page
 * what happened; each side checks the other's origin. A page that may not be shown in a frame there opens in the window
 * instead, so that a customer can always pay.
 */
export const embedScript = `(() => {
const home = new URL(document.currentScript.src).origin
const style = (element, rules) => Object.assign(element.style, rules)
const pt = (navigator.language || 'pt').startsWith('pt')

const isPage = ({ origin, pathname }) => origin === home && pathname.includes('/pay/')

function show(url, { on = () => {} }, close = () => {}) {
  const address = new URL(url, home)
  if (!isPage(address)) throw new Error('Guiche: not a page of ' + home)
  const page = address.href
  address.hash = location.origin
  const frame = document.createElement('iframe')
  frame.src = address.href
  frame.title = pt ? 'Pagamento com Pix' : 'Pix payment'
  frame.allow = 'clipboard-write'
  style(frame, { border: 0, width: '100%', display: 'block', colorScheme: 'normal' })
  let isShown = false
  const listen = ({ origin, source, data }) => {
    if (origin !== home || source !== frame.contentWindow || !data || typeof data.guiche !== 'string') return
    isShown = true
    if (data.guiche === 'size') style(frame, { height: data.height + 'px' })
    else if (data.guiche === 'closed') close()
    else if (data.guiche !== 'ready') on(data.guiche)
  }
  addEventListener('message', listen)
  frame.addEventListener('load', () => setTimeout(() => {
    if (!isShown && frame.isConnected) location.assign(page)
  }, 2000))
  return { frame, end: () => { removeEventListener('message', listen); on('closed') } }
}

function open(url, options = {}) {
  const dialog = document.createElement('dialog')
  style(dialog, { padding: 0, border: 0, borderRadius: '20px', width: '460px', maxWidth: '100vw', background: 'Canvas', colorScheme: 'light dark' })
  const button = document.createElement('button')
  button.type = 'button'
  button.textContent = '\\u2715'
  button.setAttribute('aria-label', pt ? 'Fechar' : 'Close')
  style(button, { position: 'sticky', top: 0, float: 'right', width: '44px', height: '44px', border: 0, background: 'Canvas', color: 'CanvasText', font: '20px system-ui', cursor: 'pointer', borderRadius: '0 20px 0 12px' })
  const close = () => dialog.close()
  const { frame, end } = show(url, options, close)
  style(frame, { height: '640px', clear: 'both' })
  dialog.setAttribute('aria-label', frame.title)
  button.onclick = close
  dialog.append(button, frame)
  dialog.addEventListener('close', () => { end(); dialog.remove() })
  document.body.append(dialog)
  dialog.showModal()
  return { close }
}

function mount(place, url, options = {}) {
  const close = () => { if (frame.isConnected) { frame.remove(); end() } }
  const { frame, end } = show(url, options)
  style(frame, { height: '640px' })
  ;(typeof place === 'string' ? document.querySelector(place) : place).replaceChildren(frame)
  return { close }
}

addEventListener('click', (event) => {
  const link = event.target.closest?.('a[data-guiche]')
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || !isPage(link)) return
  event.preventDefault()
  open(link.href, { on: (name) => link.dispatchEvent(new CustomEvent('guiche:' + name, { bubbles: true })) })
})
window.Guiche = { open, mount }
})()
`.replace(/\n\s*/g, '\n')
