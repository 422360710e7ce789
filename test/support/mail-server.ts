import { SMTPServer } from 'smtp-server'

export type Mail = {
  from: string
  to: string[]
  id: string
  subject: string
  text: string
  attachments: { filename: string; content: Buffer }[]
}

export type TestMailServer = {
  url: string
  mails: Mail[]
  /** Addresses that it refuses, like a mailbox that does not exist. A test may change them. */
  refused: Set<string>
  stop(): Promise<void>
}

/** A mail server on the loopback address. It refuses recipients of `unknown.example`, and those in `refused`. */
export async function startMailServer(): Promise<TestMailServer> {
  const mails: Mail[] = []
  const refused = new Set<string>()
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS', 'AUTH'],
    logger: false,
    onRcptTo: ({ address }, _, done) => {
      done(address.endsWith('@unknown.example') || refused.has(address) ? new Error('There is no such mailbox') : null)
    },
    onData: (stream, { envelope }, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const from = envelope.mailFrom ? envelope.mailFrom.address : ''
        mails.push({ from, to: envelope.rcptTo.map(({ address }) => address), ...parse(Buffer.concat(chunks)) })
        done(null, 'Accepted as a test')
      })
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    refused,
    stop: async () => await new Promise((resolve) => server.close(() => resolve())),
  }
}

function parse(raw: Buffer) {
  const [head = '', ...body] = raw.toString('utf8').split('\r\n\r\n')
  const unfolded = head.replace(/\r\n[ \t]/g, ' ')
  const header = (name: string) => new RegExp(`^${name}: (.*)$`, 'im').exec(unfolded)?.[1] ?? ''
  const whole = body.join('\r\n\r\n')
  const boundary = /boundary="?([^";\r]+)/.exec(unfolded)?.[1]
  const parts = boundary === undefined ? [] : whole.split(`--${boundary}`).slice(1, -1).map(splitPart)
  const [plain, ...attached] = parts
  const text = plain?.content ?? whole
  const encoding = plain?.head ?? header('content-transfer-encoding')
  return {
    attachments: attached.map(({ head: ofPart, content }) => ({
      filename: /filename="?([^"\r;]+)/.exec(ofPart)?.[1] ?? '',
      content: Buffer.from(content, 'base64'),
    })),
    id: header('message-id'),
    subject: header('subject').replace(/=\?UTF-8\?Q\?(.*?)\?= ?/gi, (_, word: string) =>
      fromQuoted(word.replaceAll('_', ' ')),
    ),
    text: /quoted-printable/i.test(encoding) ? fromQuoted(text.replace(/=\r\n/g, '')) : text,
  }
}

function splitPart(part: string): { head: string; content: string } {
  const [head = '', ...content] = part.trim().split('\r\n\r\n')
  return { head: head.replace(/\r\n[ \t]/g, ' '), content: content.join('\r\n\r\n') }
}

function fromQuoted(text: string): string {
  return Buffer.from(
    text.replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString('utf8')
}
