import { type Network, waited } from './network.ts'
import { forge } from './personality/forge.ts'
import type { Behaviour } from './personality/traits.ts'
import { findWebhook } from './store.ts'

/** Under which the address for callbacks about payouts is kept, where it is one of its own. */
export const payoutWebhookKey = 'payouts'

// Short: who misses all three finds the payment in the list, as with any PSP.
const pausesMs = [0, 250, 1000]
/** A callback that comes late comes within so long. */
const lateMs = 1500

type Told = { endToEndId: string; txid?: string }

/**
 * Tells the receiver of one Pix, if a callback is registered. Never throws: what fails is only logged.
 *
 * @param behaviours what goes wrong; by the bank's character where nothing was decided before
 */
export async function tellReceiver(network: Network, pix: Told, behaviours?: Behaviour[]): Promise<void> {
  try {
    const personality = await network.nature.current()
    const has = (behaviour: Behaviour) =>
      behaviours ? behaviours.includes(behaviour) : personality.has(behaviour, pix.endToEndId)
    if (has('callback_never')) return
    const webhook = await network.webhook.current()
    if (!webhook) return
    if (has('callback_late') && !(await waited(network, lateMs * personality.draw('pause', pix.endToEndId)))) return
    const forged = has('callback_forged') ? await forge(network, pix) : []
    const post = async (entries: object[]) => await postUntilAccepted(network, `${webhook.url}/pix`, { pix: entries })
    // The forged ones are quicker, and come once more in the company of the true one.
    if (forged.length > 0) await post(forged)
    const isAccepted = await post([...forged, pix])
    if (has('callback_twice')) await post([pix, pix])
    if (!isAccepted) network.log.warn({ endToEndId: pix.endToEndId }, 'The simulator gave up on a callback')
  } catch (error) {
    network.log.warn({ err: error, endToEndId: pix.endToEndId }, 'The simulator could not send a callback')
  }
}

/** Tells of a payout where the PSP has an address of its own for that. Never throws. */
export async function tellPayoutWebhook(
  network: Network,
  endToEndId: string,
  { suffix, body }: { suffix: string; body: unknown },
): Promise<void> {
  try {
    const personality = await network.nature.current()
    const webhook = await findWebhook(network.pool, payoutWebhookKey)
    if (!webhook || personality.has('callback_never', endToEndId)) return
    if (!(await postUntilAccepted(network, `${webhook.url}${suffix}`, body)))
      network.log.warn({ endToEndId }, 'The simulator gave up on a callback')
  } catch (error) {
    network.log.warn({ err: error, endToEndId }, 'The simulator could not send a callback')
  }
}

/** True also when the simulator closed meanwhile: nothing was given up then. */
async function postUntilAccepted(network: Network, url: string, body: unknown): Promise<boolean> {
  for (const pauseMs of pausesMs) {
    if (pauseMs > 0 && !(await waited(network, pauseMs))) return true
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
