/** A message broker that gets all events. */
export type EventSinkSettings = {
  kind: 'nats' | 'amqp'
  /** Under this name its positions are kept. */
  name: string
  /** Without the parameters below. */
  url: string
  /** NATS: the beginning of the subjects. AMQP: the exchange. */
  destination: string
}

const kinds: Record<string, EventSinkSettings['kind']> = {
  'nats:': 'nats',
  'tls:': 'nats',
  'amqp:': 'amqp',
  'amqps:': 'amqp',
}

const wrong =
  'EVENT_SINK must be the address of a message broker, such as nats://host:4222?subject=guiche.events or amqps://user:password@host/vhost?exchange=guiche.events'

/** Reads EVENT_SINK. Null without it. */
export function readEventSink(text: string | undefined, faults: string[]): EventSinkSettings | null {
  if (text === undefined) return null
  const settings = parseEventSink(text)
  if (settings === null) faults.push(wrong)
  return settings
}

function parseEventSink(text: string): EventSinkSettings | null {
  const url = URL.canParse(text) ? new URL(text) : null
  const kind = url && kinds[url.protocol]
  if (!url || !kind || url.hostname === '') return null
  const { name = kind, subject, exchange, ...others } = Object.fromEntries(url.searchParams)
  if (Object.keys(others).length > 0 || (kind === 'nats' ? exchange : subject) !== undefined) return null
  const destination = subject ?? exchange ?? 'guiche.events'
  if (!/^[\w-]{1,64}$/.test(name) || !/^[\w-]+(?:\.[\w-]+)*$/.test(destination)) return null
  url.search = ''
  return { kind, name, url: url.href, destination }
}
