import { Readable } from 'node:stream'
import type { StreamedFile } from '../http/csv.ts'
import { type ReportFormat, type ReportName, type ReportRequest, type WriteDeps, writeReport } from './write.ts'

/** What an accountant needs of a month: lists to read, the statement also to import, the fees also to file. */
const contents: { report: ReportName; format: ReportFormat }[] = [
  { report: 'transactions', format: 'excel' },
  { report: 'withdrawals', format: 'excel' },
  { report: 'statement', format: 'excel' },
  { report: 'statement', format: 'ofx' },
  { report: 'fees', format: 'excel' },
  { report: 'fees', format: 'pdf' },
]

/** All files of a period that the reader may have, in one. Each is read from the database when its turn comes. */
export function zipReports(
  deps: WriteDeps,
  request: Omit<ReportRequest, 'report' | 'format'>,
  mayRead: (report: ReportName) => boolean,
): StreamedFile {
  const { from, until } = request.period
  const name = `${request.language === 'pt' ? 'fechamento' : 'month'}-${from}-${until}.zip`
  const files = contents.filter(({ report }) => mayRead(report)).map((one) => writeReport(deps, { ...request, ...one }))
  return { name, type: 'application/zip', pieces: zip(files, deps.clock.now()) }
}

/** An archive of files. Each is made when its turn comes. */
export async function* zip(files: Pick<StreamedFile, 'name' | 'pieces'>[], mtime: Date): AsyncGenerator<Buffer> {
  // Loaded when it is needed.
  const { ZipFile } = await import('yazl')
  const archive = new ZipFile()
  const output = archive.outputStream as unknown as Readable
  for (const { name, pieces } of files)
    archive.addReadStreamLazy(name, { mtime }, (done) => {
      const source = Readable.from(pieces)
      // Without it the archive would wait for ever for the rest of a file that could not be read.
      source.once('error', (error) => output.destroy(error))
      done(null, source)
    })
  archive.end()
  yield* output
}
