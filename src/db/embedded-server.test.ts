import { expect, it } from 'vitest'
import { buffersOf } from './embedded-server.ts'

const gigabyte = 2 ** 30

it.each([
  [0.5, 128],
  [1, 128],
  [1.5, 192],
  [8, 1024],
  [16, 2048],
  [512, 2048],
])('gives PostgreSQL an eighth of the memory, within limits: of %d GB %d MB', (gigabytes, megabytes) => {
  expect(buffersOf(gigabytes * gigabyte)).toBe(megabytes)
})
