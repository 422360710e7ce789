import { connect, type Socket } from 'node:net'
import { newHistogram, record } from './histogram.ts'
import { type Job, numberMark, type Report } from './job.ts'
import { createScanner, type Message, statusOf } from './scan.ts'

type Connection = { socket: Socket; dueAt: number; isBusy: boolean }
type Prepared = { bytes: Buffer; marks: number[] }

/**
 * The last number that was written in place of `numberMark`. It starts from the clock, so that a generator that starts
 * later does not repeat numbers (it wraps after 11 days).
 */
let lastNumber = (Date.now() % 1e9) * 1000

/** If no connection gets an answer for this long, none will come. */
const silenceMaxMs = 30_000

/** Runs a job in this process: raw sockets, prepared requests, minimal parsing of answers (about 15 µs a request). */
export async function runJob(job: Job, onSend?: (index: number, dueAt: number) => void): Promise<Report> {
  if (job.requests.length === 0 && !job.once) throw new Error('the job has no requests to repeat')
  const requests = job.requests.map(prepare)
  const pattern = job.keep && new RegExp(job.keep.pattern)
  const report: Report = {
    count: 0,
    errors: {},
    seconds: 0,
    latency: newHistogram(),
    queued: newHistogram(),
    kept: [],
    cpuMicros: 0,
  }
  let startAt = Number.POSITIVE_INFINITY
  let countFrom = startAt
  let endAt = startAt
  let sent = 0
  let lastAnswerAt = 0
  let lastSignOfLifeAt = 0

  const connections: Connection[] = []
  const idle: Connection[] = []
  let finish: () => void = () => {}
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })

  let isFinished = false
  const isOver = () => performance.now() >= endAt || (job.once && sent >= requests.length)

  function send(connection: Connection, dueAt: number): void {
    const request = requests[sent % requests.length]
    if (!request) return
    onSend?.(sent % requests.length, dueAt)
    sent += 1
    if (dueAt >= countFrom) record(report.queued, (performance.now() - dueAt) * 1000)
    connection.dueAt = dueAt
    connection.isBusy = true
    connection.socket.write(request.marks.length === 0 ? request.bytes : toNumbered(request))
  }

  function next(connection: Connection): void {
    if (job.perSecond !== null) {
      idle.push(connection)
      sendDue()
    } else if (!isOver()) send(connection, performance.now())
    else if (connections.every(({ isBusy }) => !isBusy)) finish()
  }

  function sendDue(): void {
    if (job.perSecond === null) return
    const now = performance.now()
    while (idle.length > 0 && !isOver()) {
      const dueAt = startAt + (sent / job.perSecond) * 1000
      if (dueAt > now) return
      // Connections are used in turn, because the service closes those that are idle.
      const connection = idle.shift()
      if (connection) send(connection, dueAt)
    }
    if (isOver() && idle.length === connections.length) finish()
  }

  function onAnswer(connection: Connection, message: Message): void {
    const now = performance.now()
    lastSignOfLifeAt = now
    connection.isBusy = false
    const status = statusOf(message)
    // At a fixed rate, every request that was due after the warm-up counts, however late its answer.
    const counts = job.perSecond === null ? now >= countFrom && now <= endAt : connection.dueAt >= countFrom
    if (counts) {
      lastAnswerAt = now
      if (status >= 200 && status < 300) {
        report.count += 1
        record(report.latency, (now - connection.dueAt) * 1000)
      } else addError(report, `${status} ${/"code":"(\w+)"/.exec(message.body.toString('latin1'))?.[1] ?? ''}`.trim())
      report.firstErrorBody ??= status >= 300 ? message.body.toString() : undefined
    }
    if (pattern && job.keep && report.kept.length < job.keep.max) {
      const found = pattern.exec(message.body.toString('latin1'))
      if (found) report.kept.push(found.slice(1))
    }
    if (/^connection: *close/im.test(message.head)) void replace(connection)
    else next(connection)
  }

  /** A service of several processes closes connections of a process that has more of them than the others. */
  async function replace(connection: Connection): Promise<void> {
    connection.socket.destroy()
    // The run is not over while it reconnects.
    connection.isBusy = true
    const other = await openOne().catch((error: Error) => onEnd(error.message))
    if (!other) return
    connections[connections.indexOf(connection)] = other
    if (isFinished) other.socket.destroy()
    else next(other)
  }

  function onEnd(reason: string): void {
    addError(report, reason)
    finish()
  }

  const openOne = async () => await open(job.port, onAnswer, onEnd)

  for (let index = 0; index < job.connections; index += 1) connections.push(await openOne())
  startAt = performance.now()
  countFrom = startAt + job.warmUpSeconds * 1000
  if (!job.once) endAt = countFrom + job.seconds * 1000
  const cpuAtStart = process.cpuUsage()
  const timer = job.perSecond === null ? undefined : setInterval(sendDue, 1)
  lastSignOfLifeAt = startAt
  const watch = setInterval(() => {
    if (performance.now() - lastSignOfLifeAt < silenceMaxMs || connections.every(({ isBusy }) => !isBusy)) return
    addError(report, 'no answer')
    finish()
  }, 1000)
  for (const connection of connections) next(connection)
  await finished
  isFinished = true
  clearInterval(timer)
  clearInterval(watch)
  for (const { socket } of connections) socket.destroy()
  if (job.perSecond !== null && !job.once) {
    const unsent = Math.floor((job.warmUpSeconds + job.seconds) * job.perSecond) - sent
    // The last hundredth of a second may be missing.
    if (unsent > job.perSecond / 100) report.errors['due and never sent'] = unsent
  }
  const cpu = process.cpuUsage(cpuAtStart)
  report.seconds = Math.max(0, Math.min(job.once ? lastAnswerAt : endAt, performance.now()) - countFrom) / 1000
  report.cpuMicros = ((cpu.user + cpu.system) * report.seconds) / (report.seconds + job.warmUpSeconds)
  return report
}

function open(
  port: number,
  onAnswer: (connection: Connection, message: Message) => void,
  onEnd: (reason: string) => void,
): Promise<Connection> {
  return new Promise((resolve, reject) => {
    let isOpen = false
    const scan = createScanner((message) => onAnswer(connection, message))
    const socket = connect({
      port,
      host: '127.0.0.1',
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafe(64 * 1024),
        callback: (length, buffer) => {
          scan(Buffer.from(buffer.buffer, buffer.byteOffset, length))
          return true
        },
      },
    })
    const connection: Connection = { socket, dueAt: 0, isBusy: false }
    socket.once('connect', () => {
      isOpen = true
      resolve(connection)
    })
    socket.once('error', (error) => (isOpen ? onEnd(error.message) : reject(error)))
    socket.once('end', () => onEnd('connection closed'))
  })
}

function prepare(text: string): Prepared {
  const bytes = Buffer.from(text)
  const marks: number[] = []
  for (let at = bytes.indexOf(numberMark); at !== -1; at = bytes.indexOf(numberMark, at + 1)) marks.push(at)
  return { bytes, marks }
}

/** A copy: the same request may be in flight on another connection. */
function toNumbered({ bytes, marks }: Prepared): Buffer {
  lastNumber += 1
  const text = String(lastNumber).padStart(numberMark.length, '0')
  const copy = Buffer.from(bytes)
  for (const mark of marks) copy.write(text, mark, 'latin1')
  return copy
}

function addError(report: Report, reason: string): void {
  report.errors[reason] = (report.errors[reason] ?? 0) + 1
}
