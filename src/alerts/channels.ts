import type { AlertSettings } from '../lib/alert-settings.ts'
import type { Clock } from '../lib/clock.ts'
import { createSender } from '../webhooks/attempt.ts'
import { createDialler } from '../webhooks/dial.ts'
import { signDelivery } from '../webhooks/sign.ts'
import { MailError, sendMail } from './mail.ts'
import type { Message } from './text.ts'

/** For a whole message, except an e-mail: it has its own (mail.ts). */
const deadlineMs = 10_000

/** A way to reach people. */
export type Channel = {
  name: 'email' | 'slack' | 'telegram' | 'webhook'
  /**
   * Resolves with what the other side answered.
   *
   * @throws {ChannelError} the message was not accepted, or it is not known whether it was
   */
  send(message: Message): Promise<string>
}

/** The message has no secret and no address: it is logged. */
export class ChannelError extends Error {
  /** Some of its recipients received the message. */
  readonly isPartial: boolean
  constructor(channel: Channel['name'], message: string, { isPartial = false } = {}) {
    super(`${channel}: ${message}`)
    this.name = 'ChannelError'
    this.isPartial = isPartial
  }
}

export type Channels = { all: Channel[]; close(): Promise<void> }

/** The channels that are configured. */
export function openChannels(settings: AlertSettings, { clock, baseUrl }: { clock: Clock; baseUrl: string }): Channels {
  // The operator chose these addresses, so they may be in the operator's own network.
  const dialler = createDialler({ allowPrivate: true })
  const sender = createSender({ dialler, deadlineMs, now: () => clock.now() })
  const post = async (name: Channel['name'], url: string, body: Buffer, headers: Record<string, string> = {}) => {
    const { outcome, status, error } = await sender.send({ url, headers, body })
    if (outcome !== 'success') throw new ChannelError(name, error ?? 'the attempt was broken off')
    return String(status)
  }
  const { email, slack, telegram, webhook } = settings
  const all: Channel[] = []
  if (email) all.push(createEmail(email, baseUrl))
  if (slack)
    all.push({
      name: 'slack',
      send: async (message) => await post('slack', slack.url, toJson({ text: escapeSlack(toText(message)) })),
    })
  if (telegram)
    all.push({
      name: 'telegram',
      send: async (message) =>
        await post(
          'telegram',
          `${telegram.url}/bot${telegram.token}/sendMessage`,
          toJson({ chat_id: telegram.chat, text: toText(message), link_preview_options: { is_disabled: true } }),
        ),
    })
  if (webhook)
    all.push({
      name: 'webhook',
      async send(message) {
        const body = toJson(toEvent(message))
        const signed = { secrets: [webhook.secret], id: message.id, timestamp: clock.now(), body }
        return await post('webhook', webhook.url, body, signDelivery(signed))
      },
    })
  return {
    all,
    async close() {
      sender.stop()
      await dialler.close()
    },
  }
}

function createEmail({ to, ...settings }: NonNullable<AlertSettings['email']>, baseUrl: string): Channel {
  return {
    name: 'email',
    async send({ id, thread, title, lines, url }) {
      try {
        const text = [title, ...lines, url].join('\n\n')
        return await sendMail(settings, baseUrl, { to, subject: title, text, id, thread })
      } catch (error) {
        // Without the cause: answers of mail servers contain addresses.
        throw error instanceof MailError ? new ChannelError('email', error.message, error) : error
      }
    },
  }
}

function toText({ title, lines, url }: Message): string {
  return [title, ...lines, url].join('\n')
}

/** Slack's own escapes: nothing of a message may be a mention or a link to elsewhere. */
function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** The operator's webhook: as for merchants, with the fields of an alert. */
function toEvent({ id, thread, state, kind, severity, subject, title, lines, url, beganAt, endedAt }: Message) {
  return {
    id,
    type: `alert.${state}`,
    timestamp: (endedAt ?? beganAt).toISOString(),
    data: { alertId: thread, kind, severity, subject, title, text: lines.join('\n'), url, beganAt, endedAt },
  }
}

function toJson(body: object): Buffer {
  return Buffer.from(JSON.stringify(body))
}
