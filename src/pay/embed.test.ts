import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { embedScript } from './embed.ts'

const gateway = 'https://pix.example.com'

/** Runs the script in the page of a shop, opens a payment page, and lets its frame load without a message. */
function openIn(shop: string, url: string): { shown: string; assigned: string[] } {
  const assigned: string[] = []
  let loaded = () => {}
  const createElement = () => ({
    style: {},
    isConnected: true,
    src: '',
    setAttribute() {},
    append() {},
    remove() {},
    showModal() {},
    addEventListener(event: string, listener: () => void) {
      if (event === 'load') loaded = listener
    },
  })
  const frames: ReturnType<typeof createElement>[] = []
  const window: { Guiche?: { open(url: string): void } } = {}
  runInNewContext(embedScript, {
    ...{ window, URL, CustomEvent, navigator: { language: 'en' }, addEventListener() {} },
    location: { origin: shop, assign: (address: string) => assigned.push(address) },
    // Without the wait for a message of the frame.
    setTimeout: (run: () => void) => run(),
    document: {
      currentScript: { src: `${gateway}/pay/embed.js` },
      body: { append() {} },
      createElement(name: string) {
        const element = createElement()
        if (name === 'iframe') frames.push(element)
        return element
      },
    },
  })
  window.Guiche?.open(url)
  loaded()
  return { shown: frames[0]?.src ?? '', assigned }
}

it.each(['/pay/abc', 'https://pix.example.com/pay/abc'])(
  'sends the customer to the page of the gateway if %s may not be shown in a frame',
  (url) => {
    expect(openIn('https://loja.example', url)).toEqual({
      shown: 'https://pix.example.com/pay/abc#https://loja.example',
      assigned: ['https://pix.example.com/pay/abc'],
    })
  },
)
