import { once } from 'node:events'
import { get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify, { type FastifyRequest } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Column, sendCsv, wantsCsv, writeCsv } from './csv.ts'

describe('a line of CSV', () => {
  it.each<[string, (string | number | Date | null)[], string]>([
    [
      'leaves plain text and numbers as they are, and writes dates in ISO 8601',
      ['a b', -5, new Date(0)],
      'a b,-5,1970-01-01T00:00:00.000Z',
    ],
    ['leaves the cell of a null empty', [null, '', null], ',,'],
    [
      'quotes characters that would end a cell or a line',
      ['a,b', 'say "so"', 'two\r\nlines'],
      '"a,b","say ""so""","two\r\nlines"',
    ],
    ['turns formulas into text', ['=1+1', '+55', '-x', '@SUM(A1)', '\tx'], "'=1+1,'+55,'-x,'@SUM(A1),'\tx"],
    [
      'turns formulas after invisible characters, and full-width ones, into text',
      [' =1', '\u00a0+1', '\u200b-1', '\ufeff@A', '＝1', '＋1', '－1', '＠A', ' \u200b＝1'],
      "' =1,'\u00a0+1,'\u200b-1,'\ufeff@A,'＝1,'＋1,'－1,'＠A,' \u200b＝1",
    ],
    [
      'turns formulas behind a semicolon or a tab into text, which some spreadsheets take for the end of a cell',
      ['x;=1+1;y', 'x\t -1', 'x;"@A"', 'a;b'],
      'x;\'=1+1;y,x\t\' -1,"x;\'""@A""",a;b',
    ],
    ['quotes a formula as well', ['=HYPERLINK("x","y")'], `"'=HYPERLINK(""x"",""y"")"`],
  ])('%s', async (_, cells, line) => {
    const columns = cells.map((cell, index): Column<number> => [`c${index}`, () => cell])
    const names = columns.map(([name]) => name).join(',')
    const written = await Readable.from(writeCsv(columns, Readable.from([[1, 2]]))).toArray()
    expect(written).toEqual([`${names}\r\n`, `${line}\r\n${line}\r\n`])
  })
})

it.each([
  ['text/csv', true],
  ['application/json;q=0.05, Text/CSV ; charset=UTF-8; q=0.5', true],
  ['text/html, text/csv;header=present;q=0.9, */*;q=0.8', true],
  ['application/json, text/csv;q=0.1', false],
  ['application/json, text/plain, */*', false],
  ['text/csv;q=0', false],
  ['application/json, text/csv;header=present; q=0.000', false],
  ['text/csv-schema', false],
  ['*/*', false],
  [undefined, false],
])('Accept: %s asks for CSV: %s', (accept, isCsv) => {
  expect(wantsCsv({ headers: { accept } } as FastifyRequest)).toBe(isCsv)
})

describe('an export', () => {
  const app = Fastify()
  const piece = 'x'.repeat(100_000)
  let made = 0
  let ended = false

  beforeAll(async () => {
    app.get('/export', async (_, reply) => sendCsv(reply, 'endless', endless()))
    await app.listen({ port: 0, host: '127.0.0.1' })
  })
  afterAll(async () => await app.close())

  async function* endless(): AsyncGenerator<string> {
    try {
      for (;;) {
        made += 1
        yield piece
        await sleep(0)
      }
    } finally {
      ended = true
    }
  }

  it('produces rows only as fast as the client reads, and ends when the client disconnects', async () => {
    const request = get({ port: (app.server.address() as AddressInfo).port, path: '/export' })
    const [answer] = await once(request, 'response')
    expect(answer.headers['content-disposition']).toBe('attachment; filename="endless.csv"')
    answer.pause()
    // Only as much as the socket buffers on both sides hold.
    await stable(() => made)
    const requested = made
    expect(requested).toBeLessThan(500)
    await sleep(100)
    expect(made).toBe(requested)
    expect(ended).toBe(false)

    // When the client reads some more megabytes, more are produced.
    let read = 0
    for await (const chunk of answer) {
      read += chunk.length
      if (read > 100 * piece.length) break
    }
    request.destroy()
    expect(made).toBeGreaterThan(requested)
    await stable(() => (ended ? -1 : made))
    expect(ended).toBe(true)
  })

  it('reads no rows for a HEAD request', async () => {
    const before = made
    const answer = await fetch(`${app.listeningOrigin}/export`, { method: 'HEAD' })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8'])
    await sleep(100)
    expect(made).toBe(before)
  })

  /** Waits until the value has been the same for a second. */
  async function stable(read: () => number): Promise<void> {
    for (let [before, times] = [Number.NaN, 0]; times < 5; times = before === read() ? times + 1 : 0) {
      before = read()
      await sleep(200)
    }
  }
})
