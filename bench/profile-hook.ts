import { writeFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'

// Loaded into the service before its own code (`node --import`). Takes a CPU profile between two messages.
const session = new Session()
session.connect()
await session.post('Profiler.enable')
await session.post('Profiler.setSamplingInterval', { interval: 250 })

process.on('message', (message: { profile: 'start' } | { profile: 'stop'; file: string }) => {
  void answer(message).then(
    () => process.send?.('done'),
    // `send` in profile.ts throws it.
    (error: unknown) => process.send?.(String(error)),
  )
})
// The channel must not keep the service alive.
process.channel?.unref()

async function answer(message: { profile: 'start' } | { profile: 'stop'; file: string }): Promise<void> {
  if (message.profile === 'start') return await session.post('Profiler.start')
  const { profile } = await session.post('Profiler.stop')
  writeFileSync(message.file, JSON.stringify(profile))
}
