import { createRequire } from 'node:module'
import { join } from 'node:path'
import { qrMatrix, toPngDataUrl } from '../../qr-png/src/index.ts'
import { packageFolder } from '../../src/db/migrate.ts'
import { assert } from '../../src/lib/assert.ts'
import { encodeDynamicBrCode } from '../../src/pix/brcode.ts'
import { type Bench, measure, toRow } from '../bench.ts'
import { toRequest } from '../load/job.ts'
import { median, type Row } from '../results.ts'

/** Token requests: each compares the hash of a secret and signs a token. */
export async function token({ results, service, merchants, rounds, seconds, say }: Bench): Promise<void> {
  const requests = merchants.map(({ clientId, clientSecret }) =>
    toRequest({
      method: 'POST',
      path: '/auth/token',
      body: `grant_type=client_credentials&client_id=${clientId}&client_secret=${clientSecret}`,
    }),
  )
  const reports = []
  for (let round = 1; round <= rounds; round += 1) {
    say(`token, round ${round} of ${rounds}`)
    reports.push(
      await measure(service, {
        port: service.port,
        connections: 64,
        seconds,
        warmUpSeconds: 1,
        perSecond: null,
        requests,
        once: false,
        keep: null,
      }),
    )
  }
  results.section('Token', `POST /auth/token over 64 connections, ${merchants.length} clients.`)
  results.row(toRow('token', reports))
}

/** The QR image of a code as Guichê draws it, compared with the most used package; in this process, on one core. */
export async function qrCode({ results, peers, rounds, say }: Bench): Promise<void> {
  if (peers.length === 0)
    return results.skip(
      'QR code and image',
      'it is compared with the package qrcode, which is installed with the competitors',
    )
  say('QR code')
  const require = createRequire(join(packageFolder(), 'bench/peers/express/package.json'))
  const usual: { toDataURL(text: string, options: object): Promise<string> } = require('qrcode')
  const codes = Array.from({ length: 500 }, (_, index) =>
    encodeDynamicBrCode({
      location: `pix.example.com/qr/v2/${index.toString(16).padStart(32, '7')}`,
      merchantName: 'LOJA GUICHE',
      merchantCity: 'SAO PAULO',
    }),
  )
  const ours: number[] = []
  const theirs: number[] = []
  const time = async (count: number, make: (code: string) => unknown) => {
    const startedAt = performance.now()
    for (let index = 0; index < count; index += 1) await make(codes[index % codes.length] ?? '')
    return ((performance.now() - startedAt) / count) * 1000
  }
  // Not `qrCodeDataUrl`, which keeps the newest images in memory.
  const draw = (code: string) => {
    const matrix = qrMatrix(code)
    assert(matrix, 'a BR Code fits the versions of QR codes that are drawn')
    return toPngDataUrl(matrix)
  }
  await time(2000, draw)
  for (let round = 1; round <= rounds; round += 1) {
    ours.push(await time(5000, draw))
    theirs.push(await time(100, async (code) => await usual.toDataURL(code, { errorCorrectionLevel: 'M' })))
  }
  results.section('QR code and image', 'A BR Code to a PNG as a data URL, level M, on one core.')
  const row = (name: string, values: number[]): Row => ({ name, unit: 'µs', values })
  results.row(row('Guichê', ours))
  results.row(row('qrcode.toDataURL', theirs))
  results.target({
    name: 'QR code and image, relative to qrcode.toDataURL',
    kind: 'at least',
    wanted: 100,
    seen: median(theirs) / median(ours),
    unit: '×',
  })
}
