import { type Network, waited } from './network.ts'
import { receiverKey } from './receiver-account.ts'

// Short: who misses all three finds the payment in the list, as with any PSP.
const pausesMs = [0, 250, 1000]

/** Tells the receiver of one Pix, if a callback is registered. Never throws: what fails is only logged. */
export async function tellReceiver(network: Network, pix: { endToEndId: string }): Promise<void> {
  try {
    const webhook = await network.findWebhook(receiverKey)
    if (!webhook) return
    const body = { pix: [pix] }
    for (const pauseMs of pausesMs) {
      if (pauseMs > 0 && !(await waited(network, pauseMs))) return
      if (network.closing.aborted || (await isAccepted(network, `${webhook.url}/pix`, body))) return
    }
    network.log.warn({ endToEndId: pix.endToEndId }, 'The simulator gave up on a callback')
  } catch (error) {
    network.log.warn({ err: error, endToEndId: pix.endToEndId }, 'The simulator could not send a callback')
  }
}

async function isAccepted(network: Network, url: string, body: unknown): Promise<boolean> {
  try {
    const status = await network.sendCallback(url, body)
    return status >= 200 && status < 300
  } catch (error) {
    network.log.warn({ err: error }, 'A callback of the simulator failed')
    return false
  }
}
