/** One received HTTP/1.1 message: its head (the first line and the headers), and its whole body. */
export type Message = { head: string; body: Buffer }

/**
 * Splits a stream of HTTP/1.1 messages. Of the head it parses only what gives the length of the body, which makes it
 * cheap. Pass it every chunk; it calls back for every complete message. `onStart` is called with a message's first
 * bytes.
 */
export function createScanner(onMessage: (message: Message) => void, onStart?: () => void): (chunk: Buffer) => void {
  let rest: Buffer | null = null
  return (chunk) => {
    if (rest === null) onStart?.()
    let data: Buffer = rest === null ? chunk : Buffer.concat([rest, chunk])
    rest = null
    while (data.length > 0) {
      const taken = take(data)
      if (taken === null) {
        // The reader reuses its buffer for the next chunk.
        rest = Buffer.from(data)
        return
      }
      onMessage(taken.message)
      data = data.subarray(taken.end)
      if (data.length > 0) onStart?.()
    }
  }
}

/** The status of an answer. */
export function statusOf(message: Message): number {
  return Number(message.head.slice(9, 12))
}

function take(data: Buffer): { message: Message; end: number } | null {
  const headEnd = data.indexOf('\r\n\r\n')
  if (headEnd === -1) return null
  const head = data.toString('latin1', 0, headEnd)
  const start = headEnd + 4
  if (/^transfer-encoding: *chunked/im.test(head)) return takeChunks(data, head, start)
  const end = start + Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0)
  return data.length < end ? null : { message: { head, body: data.subarray(start, end) }, end }
}

function takeChunks(data: Buffer, head: string, start: number): { message: Message; end: number } | null {
  const parts: Buffer[] = []
  for (let at = start; ; ) {
    const lineEnd = data.indexOf('\r\n', at)
    if (lineEnd === -1) return null
    const length = Number.parseInt(data.toString('latin1', at, lineEnd), 16)
    const partStart = lineEnd + 2
    const end = partStart + length + 2
    if (data.length < end) return null
    if (length === 0) return { message: { head, body: Buffer.concat(parts) }, end }
    parts.push(data.subarray(partStart, partStart + length))
    at = end
  }
}
