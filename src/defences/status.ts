import { assert } from '../lib/assert.ts'

/**
 * draft: it can be edited; sending: the PSP's answer is not known yet; refused: by the PSP, and can be corrected; sent:
 * the PSP has it; handed_in: a person submitted it to the PSP outside Guichê, by e-mail or on the PSP's own site. The
 * outcome is the dispute's own state. The PSP may reopen a dispute that had ended: then its defence is a draft again.
 */
export const defenceStates = ['draft', 'sending', 'refused', 'sent', 'handed_in'] as const
export type DefenceState = (typeof defenceStates)[number]

const transitions: Record<DefenceState, readonly DefenceState[]> = {
  draft: ['sending', 'handed_in'],
  // handed_in: the PSP's API does not answer, and the deadline is near.
  sending: ['sent', 'refused', 'handed_in', 'draft'],
  refused: ['sending', 'handed_in'],
  sent: ['draft'],
  handed_in: ['draft'],
}

export function mayChange(from: DefenceState, to: DefenceState): boolean {
  return transitions[from].includes(to)
}

export function assertTransition(from: DefenceState, to: DefenceState): void {
  assert(mayChange(from, to), `a defence does not go from ${from} to ${to}`)
}

/** Whether text and files may change. */
export function isEditable(state: DefenceState): boolean {
  return state === 'draft' || state === 'refused'
}
