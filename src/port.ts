import { type AddressInfo, createServer } from 'node:net'

/** The port must be known before the app is created: QR codes and callbacks contain it. */
export async function findFreePort(host: string): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve, reject) => probe.once('error', reject).listen(0, host, resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}
