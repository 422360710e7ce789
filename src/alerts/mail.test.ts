import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { expect, it } from 'vitest'
import { sendMail } from './mail.ts'

it('does not say that a mail was refused when the server ends the connection instead of confirming it', async () => {
  const sockets: Socket[] = []
  let received = ''
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS', 'AUTH'],
    onData(stream) {
      stream.on('data', (chunk: Buffer) => {
        received += chunk.toString()
      })
      stream.on('end', () => sockets.forEach((socket) => void socket.destroy()))
    },
  })
  server.on('error', () => {})
  server.server.on('connection', (socket: Socket) => sockets.push(socket))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.server.address() as AddressInfo
  const settings = { smtpUrl: `smtp://127.0.0.1:${port}`, from: null }
  const mail = { to: 'shop@example.com', subject: 'A report', text: 'The numbers', id: 'report-1' }
  await expect(sendMail(settings, 'https://pix.example.com', mail)).rejects.toThrow(
    /^the mail server did not confirm that it accepted the mail \(ECONNECTION\)$/,
  )
  expect(received).toContain('The numbers')
  await new Promise<void>((done) => server.close(done))
})
