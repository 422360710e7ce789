/** The languages that people read: those of the dashboard. */
export const languages = ['en', 'pt'] as const
export type Language = (typeof languages)[number]

/** The server that sends mail, and the sender's address; null: `guiche@` and the host of the service. */
export type MailSettings = { smtpUrl: string; from: string | null }

/** Where alerts are sent. Null: not configured. */
export type AlertSettings = {
  language: Language
  email: (MailSettings & { to: string[] }) | null
  /** For other mail: reports. */
  mail: MailSettings | null
  slack: { url: string } | null
  telegram: { url: string; token: string; chat: string } | null
  webhook: { url: string; secret: string } | null
}

const telegramUrl = 'https://api.telegram.org'

type Variable =
  | 'SMTP_URL'
  | `ALERT_EMAIL_${'TO' | 'FROM'}`
  | `ALERT_TELEGRAM_${'TOKEN' | 'CHAT' | 'URL'}`
  | 'ALERT_SLACK_URL'
  | `ALERT_WEBHOOK_${'URL' | 'SECRET'}`

/** The settings that only work together. */
const pairs = [
  ['ALERT_EMAIL_TO', 'SMTP_URL'],
  ['ALERT_TELEGRAM_TOKEN', 'ALERT_TELEGRAM_CHAT'],
  ['ALERT_WEBHOOK_URL', 'ALERT_WEBHOOK_SECRET'],
] as const

const isHttp = (text: string) => isUrl(text, /^https?:$/)
const httpUrl = 'a URL that begins with http:// or https://'

const formats: [name: Variable, isValid: (text: string) => boolean, what: string][] = [
  ['SMTP_URL', (text) => isUrl(text, /^smtps?:$/), 'a URL that begins with smtp:// or smtps://'],
  ['ALERT_EMAIL_TO', areAddresses, 'e-mail addresses, separated by commas'],
  ['ALERT_EMAIL_FROM', isAddress, 'an e-mail address'],
  ['ALERT_SLACK_URL', isHttp, httpUrl],
  ['ALERT_TELEGRAM_URL', isHttp, httpUrl],
  ['ALERT_WEBHOOK_URL', isHttp, httpUrl],
  ['ALERT_TELEGRAM_TOKEN', (text) => /^\d+:[\w-]{20,}$/.test(text), 'a bot’s token, such as 123456:ABC…'],
  [
    'ALERT_WEBHOOK_SECRET',
    (text) => /^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/.test(text),
    'whsec_ and 24 to 64 bytes in base64, such as that of: echo "whsec_$(openssl rand -base64 32)"',
  ],
]

/** Reads the settings of alerts. Adds each error to `errors`. */
export function readAlertChannels(
  read: (name: Variable) => string | undefined,
  errors: string[],
): Omit<AlertSettings, 'language'> {
  for (const [name, isValid, what] of formats) {
    const text = read(name)
    if (text !== undefined && !isValid(text)) errors.push(`${name} must be ${what}`)
  }
  for (const [one, other] of pairs) {
    if ((read(one) === undefined) === (read(other) === undefined)) continue
    const [set, missing] = read(one) === undefined ? [other, one] : [one, other]
    // A service may use SMTP_URL for other mail.
    if (set !== 'SMTP_URL') errors.push(`${missing} must be set together with ${set}`)
  }
  const [smtpUrl, to] = [read('SMTP_URL'), read('ALERT_EMAIL_TO')]
  const from = read('ALERT_EMAIL_FROM') ?? null
  const [token, chat] = [read('ALERT_TELEGRAM_TOKEN'), read('ALERT_TELEGRAM_CHAT')]
  const [slack, webhook, secret] = [read('ALERT_SLACK_URL'), read('ALERT_WEBHOOK_URL'), read('ALERT_WEBHOOK_SECRET')]
  return {
    email: smtpUrl && to ? { smtpUrl, to: toAddresses(to), from } : null,
    mail: smtpUrl ? { smtpUrl, from } : null,
    slack: slack ? { url: slack } : null,
    telegram:
      token && chat ? { url: (read('ALERT_TELEGRAM_URL') ?? telegramUrl).replace(/\/+$/, ''), token, chat } : null,
    webhook: webhook && secret ? { url: webhook, secret } : null,
  }
}

function isUrl(text: string, protocol: RegExp): boolean {
  return URL.canParse(text) && protocol.test(new URL(text).protocol) && new URL(text).hostname !== ''
}

function toAddresses(text: string): string[] {
  return text.split(',').flatMap((part) => part.trim() || [])
}

/** False for commas alone: alerts would reach nobody. */
function areAddresses(text: string): boolean {
  const addresses = toAddresses(text)
  return addresses.length > 0 && addresses.every(isAddress)
}

/** Strict: nothing of it may end a header or add another recipient. */
function isAddress(text: string): boolean {
  return /^[^\s@,;:<>()"\\]+@[^\s@,;:<>()"\\]+$/.test(text)
}
