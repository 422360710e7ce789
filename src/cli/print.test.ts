import { afterEach, expect, it, vi } from 'vitest'
import { print } from './print.ts'

afterEach(() => vi.restoreAllMocks())

function printed(value: object, json: boolean): string {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true)
  print(value, { json })
  return write.mock.calls.join('')
}

// An emoji with a zero-width joiner, an escape sequence, a right-to-left override, private use (also of plane 15), and a
// lone surrogate.
const name = 'Loja \u{1f469}\u200d\u{1f4bb} \u001b[31m \u202e \ue000 \u{f0000} \ud800 a\nb'

it('JSON has every character of a value, and none that controls a terminal', () => {
  const text = printed({ name, list: [{ [name]: null }] }, true)
  expect(JSON.parse(text)).toEqual({ name, list: [{ [name]: null }] })
  expect(text.replaceAll('\n', '')).not.toMatch(/\p{C}/u)
})

it('a table has no character that controls a terminal', () => {
  expect(printed({ name }, false)).toBe('name  Loja \u{1f469}?\u{1f4bb} ?[31m ? ? ? ? a?b\n')
})
