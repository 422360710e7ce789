import { Type } from 'typebox'
import { Value } from 'typebox/value'
import type { DefenceFile, DefenceOutcome } from '../acquirers/acquirer.ts'
import { type By, recordAction } from '../audit/record.ts'
import { enqueueJob, type Job } from '../jobs/jobs.ts'
import { assert } from '../lib/assert.ts'
import { invalidField } from '../lib/errors.ts'
import { newUuid } from '../lib/secrets.ts'
import {
  assertEditable,
  assertOpen,
  assertRead,
  type Case,
  canSend,
  type DisputeKey,
  lockCase,
  newDefence,
  readCase,
  refuse,
} from './case.ts'
import type { DefenceView, HandInInput, SendInput } from './schema.ts'
import { assertTransition, mayChange } from './status.ts'
import { type DefenceRow, findFile, saveDefence } from './store.ts'
import { toSentText } from './text.ts'
import { about, changeDefence, type WriteDeps } from './write.ts'

const sendDefenceJob = 'disputes.send-defence'
const Payload = Type.Object({ merchantId: Type.String(), transactionId: Type.String(), disputeId: Type.String() })

/**
 * Has a defence sent to the PSP. From now on its text and files do not change, unless the PSP refuses it or reopens the
 * dispute. A defence after the deadline is sent too: the PSP decides.
 *
 * @throws {AppError} `defence_not_possible` with the reason, `validation_failed` without a text
 */
export async function requestSending(
  deps: WriteDeps,
  key: DisputeKey,
  { input, by }: { input: SendInput; by: By },
): Promise<DefenceView> {
  return await changeDefence(deps, key, async (tx, found, now) => {
    assertEditable(found)
    assertRead(found, input)
    if (!canSend(deps.acquirers, found.dispute))
      throw refuse(
        'not_offered',
        'The API of the PSP takes no defences. Download the package, submit it to the PSP yourself, and mark it here.',
      )
    const { defence } = found
    if (!defence || defence.text.trim() === '')
      throw invalidField('text', 'required', 'is required: write what happened')
    assertTransition(defence.state, 'sending')
    const sending = { state: 'sending', submission_id: newUuid(), requested_at: now, refusal: null } as const
    await saveDefence(tx, { ...defence, ...sending })
    const details = { disputeId: key.disputeId, files: found.files.length }
    await recordAction(tx, { by, action: 'infraction.send_defence', ...about(found), details, now })
    await enqueueJob(tx, { name: sendDefenceJob, payload: key, key: `${sendDefenceJob}:${key.disputeId}` })
  })
}

/**
 * Marks a defence that a person submitted to the PSP outside Guichê, by e-mail or on the PSP's own site. Also one whose
 * sending has no answer yet. In the API, the database and the dashboard this is "handed in" (`handed_in`, `hand-in`).
 *
 * @throws {AppError} `defence_not_possible` with the reason
 */
export async function markSubmittedByHand(
  deps: WriteDeps,
  key: DisputeKey,
  { input, by }: { input: HandInInput; by: By },
): Promise<DefenceView> {
  return await changeDefence(deps, key, async (tx, found, now) => {
    const defence = found.defence ?? newDefence(found.dispute, now)
    if (!mayChange(defence.state, 'handed_in')) throw refuse('already_sent', 'The defence was sent already.')
    assertOpen(found.dispute)
    assertRead(found, input)
    const reference = input.reference.trim() || null
    await saveDefence(tx, { ...defence, state: 'handed_in', answered_at: now, reference, refusal: null })
    const details = { disputeId: key.disputeId, files: found.files.length }
    await recordAction(tx, { by, action: 'infraction.hand_in_defence', ...about(found), details, now })
  })
}

/** The job that sends defences. One without an answer is sent again under the same id, which counts once. */
export function defenceJobs(deps: WriteDeps): Record<string, Job> {
  return { [sendDefenceJob]: async (payload) => await sendDefence(deps, Value.Parse(Payload, payload)) }
}

async function sendDefence(deps: WriteDeps, key: DisputeKey): Promise<void> {
  const found = await readCase(deps.db, key)
  const { defence } = found
  // A person submitted it by hand meanwhile, another run has recorded the answer, the dispute was reopened, or its text
  // was erased.
  if (defence?.state !== 'sending' || defence.erased_at !== null) return
  const outcome = await sendToAcquirer(deps, found, defence)
  await deps.db.transaction(async (tx) => {
    const current = (await lockCase(tx, key)).defence
    if (current?.state !== 'sending' || current.submission_id !== defence.submission_id) return
    const received = outcome.outcome === 'received'
    const next = received ? 'sent' : 'refused'
    assertTransition(current.state, next)
    await saveDefence(tx, {
      ...current,
      state: next,
      answered_at: received ? outcome.at : null,
      reference: received ? outcome.reference : null,
      refusal: received ? null : outcome.reason,
    })
  })
}

async function sendToAcquirer(deps: WriteDeps, { dispute, files }: Case, defence: DefenceRow): Promise<DefenceOutcome> {
  const { defend } = deps.acquirers.named(dispute.acquirer).disputes ?? { defend: null }
  const { acquirer_reference: reference } = dispute
  if (!defend || reference === null)
    return { outcome: 'refused', reason: 'The API of the PSP takes no defences of this dispute any more.' }
  assert(defence.submission_id, 'a defence that is being sent has an id at the acquirer')
  const sent = files.map(
    ({ id, name, type, sha256 }): DefenceFile => ({
      ...{ id, name, type, sha256: sha256.toString('hex') },
      read: async () => {
        const file = await findFile(deps.db, defence, id)
        assert(file, 'the files of a defence that is being sent do not change')
        return file.content
      },
    }),
  )
  const { text, delivery, submission_id: defenceId } = defence
  return await defend({ reference, defenceId, text: toSentText(text, delivery), files: sent })
}
