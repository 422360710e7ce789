import type { Command } from 'commander'
import { openChannels } from '../alerts/channels.ts'
import { writeTestMessage } from '../alerts/text.ts'
import { readConfig, toBaseUrl } from '../config.ts'
import { systemClock } from '../lib/clock.ts'
import { newUuid } from '../lib/secrets.ts'
import { print } from './print.ts'

/** `guiche alert …`: how alerts reach people. */
export function alertCommands(program: Command): void {
  const alert = program.command('alert')

  alert
    .command('test')
    .description('send a test message on each configured channel; exits with 1 if one does not accept it')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const config = readConfig(process.env)
      const baseUrl = toBaseUrl(config)
      const { language } = config.alerts
      const channels = openChannels(config.alerts, { clock: systemClock, baseUrl })
      if (channels.all.length === 0) throw new Error(noneNote)
      const message = writeTestMessage({ id: newUuid(), language, baseUrl, now: systemClock.now() })
      try {
        const results = await Promise.all(
          channels.all.map(async (channel) => {
            const answer = { channel: channel.name, isAccepted: true }
            return await channel.send(message).then(
              (said) => ({ ...answer, answer: said }),
              (error: unknown) => ({ ...answer, isAccepted: false, answer: (error as Error).message }),
            )
          }),
        )
        const shown = results.map(({ channel, isAccepted, answer }) => ({
          channel,
          accepted: isAccepted ? 'yes' : 'no',
          answer,
        }))
        print(results, { json, shown })
        if (results.some(({ isAccepted }) => !isAccepted)) process.exitCode = 1
      } finally {
        await channels.close()
      }
    })
}

const noneNote =
  'No channel is configured. Set SMTP_URL and ALERT_EMAIL_TO, ALERT_SLACK_URL, ALERT_TELEGRAM_TOKEN and ALERT_TELEGRAM_CHAT, or ALERT_WEBHOOK_URL and ALERT_WEBHOOK_SECRET: docs/monitoring.md.'
