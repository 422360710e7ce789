import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { registerGauges } from './gauges.ts'

it('gives all gauges of one reading their current value in each scrape', async () => {
  const registry = new Registry()
  let count = 0
  const read = async () => {
    count += 1
    return count
  }
  registerGauges(registry, read, [
    { name: 'one', help: 'One', value: (read) => read },
    { name: 'two', help: 'Two', value: (read) => read * 10 },
  ])
  for (const at of [1, 2]) {
    const text = await registry.metrics()
    expect(text).toContain(`one ${at}`)
    expect(text).toContain(`two ${at}0`)
  }
})
