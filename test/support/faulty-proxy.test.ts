import { expect, it } from 'vitest'
import { openFaultyProxy } from './faulty-proxy.ts'
import { listen } from './https-psp.ts'

it.each(['pass', 'lose-answer'] as const)(
  'ends the connection when the service ends it within an answer: %s',
  { timeout: 10_000 },
  async (outcome) => {
    const service = await listen((_, answer) => answer.write('{', () => answer.destroy()))
    const proxy = await openFaultyProxy(service.url)
    proxy.plan('GET /', outcome)
    const request = async () => await (await fetch(proxy.baseUrl)).text()
    await expect(request()).rejects.toThrow(/terminated|fetch failed/)
    await proxy.stop()
    await service.close()
  },
)
