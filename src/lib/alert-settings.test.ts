import { expect, it } from 'vitest'
import { readAlertChannels } from './alert-settings.ts'

const secret = `whsec_${'a'.repeat(43)}=`
const all: Record<string, string> = {
  SMTP_URL: 'smtp://mail:25',
  ALERT_EMAIL_TO: 'a@example.com, b@example.com',
  ALERT_EMAIL_FROM: 'guiche@example.com',
  ALERT_SLACK_URL: 'https://hooks.slack.com/services/a/b/c',
  ALERT_TELEGRAM_TOKEN: '123456:abcdefghijklmnopqrstuvwxyz',
  ALERT_TELEGRAM_CHAT: '-100',
  ALERT_TELEGRAM_URL: 'http://bots:8081/',
  ALERT_WEBHOOK_URL: 'https://alerts.example.com/guiche',
  ALERT_WEBHOOK_SECRET: secret,
}

function read(settings: Record<string, string>) {
  const errors: string[] = []
  return { channels: readAlertChannels((name) => settings[name], errors), errors }
}

it('reads every channel', () => {
  expect(read(all)).toEqual({
    channels: {
      email: { smtpUrl: 'smtp://mail:25', to: ['a@example.com', 'b@example.com'], from: 'guiche@example.com' },
      mail: { smtpUrl: 'smtp://mail:25', from: 'guiche@example.com' },
      slack: { url: 'https://hooks.slack.com/services/a/b/c' },
      telegram: { url: 'http://bots:8081', token: '123456:abcdefghijklmnopqrstuvwxyz', chat: '-100' },
      webhook: { url: 'https://alerts.example.com/guiche', secret },
    },
    errors: [],
  })
})

it('refuses settings that would reach nobody', () => {
  const halves = { ALERT_EMAIL_TO: 'a@example.com', ALERT_TELEGRAM_CHAT: '1', ALERT_WEBHOOK_URL: 'https://b.example' }
  expect(read(halves).errors).toEqual([
    'SMTP_URL must be set together with ALERT_EMAIL_TO',
    'ALERT_TELEGRAM_TOKEN must be set together with ALERT_TELEGRAM_CHAT',
    'ALERT_WEBHOOK_SECRET must be set together with ALERT_WEBHOOK_URL',
  ])
  const wrong = { SMTP_URL: 'mail', ALERT_EMAIL_TO: 'a@example.com\nBcc: b@example.com', ALERT_WEBHOOK_SECRET: 'short' }
  expect(read({ ...all, ...wrong }).errors.map((error) => error.split(' ')[0])).toEqual(Object.keys(wrong))
  expect(read({ ...all, ALERT_EMAIL_TO: ', ,' }).errors).toEqual([
    'ALERT_EMAIL_TO must be e-mail addresses, separated by commas',
  ])
  expect(read({ SMTP_URL: 'smtp://mail:25' }).errors).toEqual([])
  const secretOf = (bytes: number) => `whsec_${Buffer.alloc(bytes).toString('base64')}`
  const accepts = (bytes: number) => read({ ...all, ALERT_WEBHOOK_SECRET: secretOf(bytes) }).errors.length === 0
  expect([23, 24, 64, 65, 66].filter(accepts)).toEqual([24, 64])
})
