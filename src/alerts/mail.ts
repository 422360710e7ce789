import { hostname } from 'node:os'
import type { MailSettings } from '../lib/alert-settings.ts'

/** For a whole message. Mail servers delay senders that they do not know. */
const deadlineMs = 30_000

export type Mail = {
  to: string | string[]
  subject: string
  text: string
  /** The Message-ID without its domain. A repeated mail has the same one, so that mail programs show it once. */
  id: string
  /** The same in all messages of one conversation. */
  thread?: string
  attachments?: { filename: string; contentType: string; content: Buffer }[]
}

/** The text has no secret and no address: it is logged. */
export class MailError extends Error {
  /** Some of the recipients received it. */
  readonly isPartial: boolean
  constructor(message: string, { isPartial = false } = {}) {
    super(message)
    this.name = 'MailError'
    this.isPartial = isPartial
  }
}

/**
 * Sends a mail, and resolves with what the mail server answered.
 *
 * @throws {MailError} it was not accepted for all recipients, or it is not known whether it was
 */
export async function sendMail({ smtpUrl, from }: MailSettings, baseUrl: string, mail: Mail): Promise<string> {
  const { username, hostname: server } = new URL(smtpUrl)
  // Loaded when it is needed: most processes send no mail.
  const { createTransport } = await import('nodemailer')
  const transport = createTransport({
    url: smtpUrl,
    name: hostname(),
    // A password is not sent in the clear to another machine.
    requireTLS: username !== '' && !['localhost', '127.0.0.1', '[::1]'].includes(server),
    ...{ disableFileAccess: true, disableUrlAccess: true },
  })
  const { to, subject, text, id, thread, attachments } = mail
  try {
    const sent = await transport.sendMail({
      from: { name: 'Guichê', address: from ?? `guiche@${new URL(baseUrl).hostname}` },
      ...{ to, subject: `[Guichê] ${subject}`, text, messageId: `<${id}@guiche>` },
      ...(thread !== undefined && { references: `<${thread}@guiche>` }),
      ...(attachments && { attachments }),
      headers: { 'auto-submitted': 'auto-generated' },
      signal: AbortSignal.timeout(deadlineMs),
    })
    // The person on duty may be one of the refused recipients. If all are refused, the transport throws.
    if (sent.rejected.length > 0) throw new MailError('the mail server refused a recipient', { isPartial: true })
    return sent.response
  } catch (error) {
    throw error instanceof MailError ? error : new MailError(describeFailure(error))
  } finally {
    transport.close()
  }
}

/** Answers of mail servers contain addresses. Without an answer, the mail may have been accepted. */
function describeFailure(error: unknown): string {
  const { code = 'unknown', responseCode } = error as { code?: string; responseCode?: number }
  return responseCode === undefined
    ? `the mail server did not confirm that it accepted the mail (${code})`
    : `the mail was not accepted (${code}, ${responseCode})`
}
