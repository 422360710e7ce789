import { forge, type ReportedPix } from './faults/forge.ts'
import type { Behaviour } from './faults/traits.ts'
import { type Network, waitUnlessClosed } from './network.ts'
import { findWebhook } from './store.ts'

/** The key of the callback address for payouts, at a PSP with a separate address for them. */
export const payoutWebhookKey = 'payouts'

// Short: a receiver that misses all three finds the payment in the list, as with any PSP.
const pausesMs = [0, 250, 1000]
/** A late callback arrives within this time. */
const lateMs = 1500

/**
 * Sends the receiver a callback about one Pix, if an address is registered. Never throws: failures are only logged.
 *
 * @param behaviours what goes wrong; without it, the bank's fault profile decides
 */
export async function notifyReceiver(network: Network, pix: ReportedPix, behaviours?: Behaviour[]): Promise<void> {
  try {
    const profile = await network.faultProfile.current()
    const has = (behaviour: Behaviour) =>
      behaviours ? behaviours.includes(behaviour) : profile.has(behaviour, pix.endToEndId)
    if (has('callback_never')) return
    const webhook = await network.webhook.current()
    if (!webhook) return
    if (has('callback_late') && !(await waitUnlessClosed(network, lateMs * profile.draw('pause', pix.endToEndId))))
      return
    const forged = has('callback_forged') ? await forge(network, pix) : []
    const post = async (entries: object[]) => await postUntilAccepted(network, `${webhook.url}/pix`, { pix: entries })
    // Forged callbacks arrive before the real one, and once more together with it.
    if (forged.length > 0) await post(forged)
    const isAccepted = await post([...forged, pix])
    if (has('callback_twice')) await post([pix, pix])
    if (!isAccepted) network.log.warn({ endToEndId: pix.endToEndId }, 'The simulator gave up on a callback')
  } catch (error) {
    network.log.warn({ err: error, endToEndId: pix.endToEndId }, 'The simulator could not send a callback')
  }
}

/** Sends a callback about a payout, at a PSP with a separate address for them. Never throws. */
export async function notifyPayoutWebhook(
  network: Network,
  endToEndId: string,
  { suffix, body }: { suffix: string; body: unknown },
): Promise<void> {
  try {
    const profile = await network.faultProfile.current()
    const webhook = await findWebhook(network.pool, payoutWebhookKey)
    if (!webhook || profile.has('callback_never', endToEndId)) return
    if (!(await postUntilAccepted(network, `${webhook.url}${suffix}`, body)))
      network.log.warn({ endToEndId }, 'The simulator gave up on a callback')
  } catch (error) {
    network.log.warn({ err: error, endToEndId }, 'The simulator could not send a callback')
  }
}

/** True also if the simulator closed in the meantime: nothing was given up then. */
async function postUntilAccepted(network: Network, url: string, body: unknown): Promise<boolean> {
  for (const pauseMs of pausesMs) {
    if (pauseMs > 0 && !(await waitUnlessClosed(network, pauseMs))) return true
    if (network.closing.aborted || (await isAccepted(network, url, body))) return true
  }
  return false
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
