import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Systems give outgoing connections the ports from 32768 or 49152 on: one could take the port before it is used. */
const ports = { from: 10_000, below: 32_768 }

/** A free port. It must be known before the app is created: QR codes and callbacks contain it. */
export async function findFreePort(host: string): Promise<number> {
  for (;;) {
    const port = randomInt(ports.from, ports.below)
    const probe = createServer().listen(port, host)
    try {
      await once(probe, 'listening')
      return port
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    } finally {
      probe.close()
    }
  }
}
