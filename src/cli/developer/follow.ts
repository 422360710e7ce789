import { createHash } from 'node:crypto'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { type FeedEvent, type Guiche, GuicheError, type WebhookEventType } from '../../../sdk/src/index.ts'
import { readJsonFile } from '../../lib/json-file.ts'
import { inReais } from '../../lib/money.ts'
import { checkWebhookUrl } from '../../webhooks/address.ts'
import { toPlain, write } from '../print.ts'
import { type Connection, type ConnectOptions, connect } from './connect.ts'
import { type Answered, describeAnswer, forward, isAccepted, newWebhookSecret } from './deliver.ts'
import { paint } from './say.ts'

type From = 'last' | 'start' | 'end'
type Options = ConnectOptions & { from: From; type?: WebhookEventType[]; record?: string; json?: boolean }

/** `guiche tail`: prints events as they happen, until it is interrupted. */
export async function runTail({ from, json, ...options }: Options & { from: 'start' | 'end' }): Promise<void> {
  const { guiche } = await connect(options)
  await follow(guiche, { ...options, after: from, signal: catchInterruption() }, async (event) => {
    write(json ? `${JSON.stringify(event)}\n` : `${describeEvent(event)}\n`)
  })
}

/** `guiche listen`: sends each event to an address, signed like a webhook, until it is interrupted. */
export async function runListen({
  forwardTo,
  from,
  json,
  secret: given,
  ...options
}: Options & { forwardTo: string; secret?: string }): Promise<void> {
  const wrong = checkWebhookUrl(forwardTo, { allowPrivate: true })
  if (wrong !== null) throw new Error(`The address of --forward-to ${wrong}.`)
  const { guiche, connection } = await connect(options)
  const memory = await openMemory(connection, forwardTo)
  const secret = given ?? connection.webhookSecret ?? memory.saved.secret ?? newWebhookSecret()
  const isFiltered = options.type !== undefined || options.record !== undefined
  const known = from === 'last' ? memory.saved.position : undefined
  const after = known ?? (from === 'start' ? 'start' : (await guiche.events.read({ after: 'end', limit: 1 })).next)
  // With a filter, others are skipped: a later run without it sends those after the saved position.
  const remember = async (position: string) =>
    await memory.save({ secret, position: isFiltered ? memory.saved.position : position })
  await remember(after)
  const signal = catchInterruption()
  const note = (text: string) => process.stderr.write(`${text}\n`)
  note(`Forwarding the events of ${connection.clientId} at ${connection.baseUrl} to ${forwardTo}`)
  note(`Signed with ${secret}`)
  if (known !== undefined) note('Continuing after the last event that was forwarded; --from end skips to now.')
  note('Ctrl-C ends it.\n')
  const send = async (event: FeedEvent) => {
    const answer = await forward(event, { url: forwardTo, secret })
    if (json) write(`${JSON.stringify({ ...event, answer })}\n`)
    else write(`${describeEvent(event)}  ${describe(answer)}\n`)
    await remember(event.position)
  }
  try {
    await follow(guiche, { ...options, after, signal }, send)
  } catch (error) {
    if (known === undefined || !(error instanceof GuicheError) || error.code !== 'position_unknown') throw error
    throw new Error(
      'The service does not know the last event that was forwarded: it has another database now. Add --from end, or --from start.',
    )
  }
}

/** `guiche events resend <id>`: to the addresses that it was sent to again, or from here to one. */
export async function runResend(
  id: string,
  { forwardTo, secret: given, ...options }: ConnectOptions & { forwardTo?: string; secret?: string },
): Promise<void> {
  const { guiche, connection } = await connect(options)
  if (forwardTo === undefined) {
    const { state } = await guiche.deliveries.resend(id)
    return write(`Event ${id} is ${state === 'waiting' ? 'sent after an earlier one of its record' : 'sent again'}.\n`)
  }
  const secret = given ?? connection.webhookSecret ?? (await openMemory(connection, forwardTo)).saved.secret
  if (secret === undefined) throw new Error('No secret to sign with: set GUICHE_WEBHOOK_SECRET, or add --secret.')
  const event = await guiche.events.get(id)
  const answer = await forward(event, { url: forwardTo, secret })
  write(`${describeEvent(event)}  ${describe(answer)}\n`)
  if (!isAccepted(answer)) process.exitCode = 1
}

/** A signal that aborts when the process is interrupted. The same signal again ends the process. */
function catchInterruption(): AbortSignal {
  const controller = new AbortController()
  const stop = () => controller.abort()
  process.once('SIGINT', stop).once('SIGTERM', stop)
  return controller.signal
}

/** Calls `handle` with one event after the other, until `signal` aborts. */
async function follow(
  guiche: Guiche,
  { after, type, record, signal }: Pick<Options, 'type' | 'record'> & { after: string; signal: AbortSignal },
  handle: (event: FeedEvent) => Promise<void>,
): Promise<void> {
  const onInterruption = ({ message }: GuicheError) =>
    process.stderr.write(`${paint('note', 'waiting')}  ${toPlain(message)}\n`)
  const filters = { ...(type && { type }), ...(record !== undefined && { recordId: record }) }
  try {
    for await (const event of guiche.events.follow({ after, ...filters }, { onInterruption, signal })) {
      await handle(event)
      if (signal.aborted) return
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

const typeWidth = 'transaction.processing_infraction'.length

function describeEvent({ timestamp, type, id, data }: Pick<FeedEvent, 'timestamp' | 'type' | 'id' | 'data'>): string {
  const time = new Date(timestamp).toTimeString().slice(0, 8)
  const amount = inReais(data.amount).padStart(13)
  return `${paint('dim', time)}  ${toPlain(type).padEnd(typeWidth)}  ${amount}  ${paint('dim', toPlain(id))}`
}

function describe(answer: Answered): string {
  const isOk = isAccepted(answer)
  return `${paint(isOk ? 'ok' : 'fail', isOk ? String(answer.status) : describeAnswer(answer))} in ${answer.ms} ms`
}

type Saved = { position?: string; secret?: string }

/**
 * What a later run of `listen` continues with, in a file of the user's own: the position, and the secret, so that the
 * receiver can keep it.
 */
async function openMemory({ baseUrl, clientId }: Connection, forwardTo: string) {
  const folder = join(homedir(), '.guiche')
  const name = createHash('sha256')
    .update(JSON.stringify([baseUrl, clientId, forwardTo]))
    .digest('hex')
    .slice(0, 16)
  const path = join(folder, `listen-${name}.json`)
  const remedy = 'Delete it: `guiche listen` then begins with the next event.'
  const saved = (await readJsonFile<Saved>(path, remedy)) ?? {}
  return {
    saved,
    async save(now: Saved) {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await writeFile(`${path}.new`, JSON.stringify({ baseUrl, clientId, forwardTo, ...now }), { mode: 0o600 })
      await rename(`${path}.new`, path)
    },
  }
}
