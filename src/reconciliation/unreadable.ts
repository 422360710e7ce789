import { createHash } from 'node:crypto'
import type { UnreadableEntry } from '../acquirers/acquirer.ts'
import type { Window } from '../lib/brasilia.ts'
import type { Found, Subject } from './classes.ts'

/**
 * The discrepancy that a run stores for an unreadable entry. A payment with an endToEndId can be queried individually,
 * and is posted once that answer can be read; a person must investigate anything else.
 */
export function toUnreadable(subject: Subject, { reference, at, raw }: UnreadableEntry, window: Window): Found {
  const time = at ?? window.from
  const canBeQueried = subject === 'payment' && !reference.startsWith('sha256:')
  return {
    class: 'unreadable',
    subject,
    reference,
    merchantId: null,
    recordId: null,
    at: time,
    isTiming: false,
    atAcquirer: { amount: 0, at: time.toISOString(), raw, rawSha256: createHash('sha256').update(raw).digest('hex') },
    inLedger: null,
    proposal: { action: canBeQueried ? 'settle' : 'investigate' },
    alarm: null,
  }
}
