/** A message broker that gets all events. */
export type EventSinkSettings = {
  kind: 'nats' | 'amqp' | 'kafka' | 'sqs'
  /** Under this name its positions are kept. */
  name: string
  /** The address without its parameters. */
  url: string
  /** NATS: the beginning of the subjects. AMQP: the exchange. Kafka: the topic. SQS: the region. */
  destination: string
  /** How to sign in to Kafka. */
  mechanism?: (typeof mechanisms)[number]
}

const mechanisms = ['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'] as const

/** By the scheme of the address: the kind, and the parameter that names the destination. */
const kinds: Record<string, { kind: EventSinkSettings['kind']; parameter: string }> = {
  'nats:': { kind: 'nats', parameter: 'subject' },
  'tls:': { kind: 'nats', parameter: 'subject' },
  'amqp:': { kind: 'amqp', parameter: 'exchange' },
  'amqps:': { kind: 'amqp', parameter: 'exchange' },
  'kafka:': { kind: 'kafka', parameter: 'topic' },
  'kafkas:': { kind: 'kafka', parameter: 'topic' },
  // The address of a queue, as AWS shows it.
  'https:': { kind: 'sqs', parameter: 'region' },
  'http:': { kind: 'sqs', parameter: 'region' },
}

const wrong =
  'EVENT_SINK must be the address of a message broker, such as nats://host:4222?subject=guiche.events, amqps://user:password@host/vhost?exchange=guiche.events, kafkas://user:password@host:9092?topic=guiche.events or https://sqs.sa-east-1.amazonaws.com/123456789012/guiche.fifo'

/** Reads EVENT_SINK. Null without it. */
export function readEventSink(text: string | undefined, errors: string[]): EventSinkSettings | null {
  if (text === undefined) return null
  const settings = parseEventSink(text)
  if (settings === null) errors.push(wrong)
  return settings
}

function parseEventSink(text: string): EventSinkSettings | null {
  // Kafka takes several hosts; a URL has one.
  const withOneHost = text.replace(/^(kafkas?:\/\/(?:[^@/]*@)?[^,/?]+)(?:,[\w.-]+(?::\d+)?)+/, '$1')
  const url = URL.canParse(withOneHost) ? new URL(withOneHost) : null
  const found = url && kinds[url.protocol]
  if (!url || !found || !/^[\w.[\]:-]+$/.test(url.hostname)) return null
  const { kind, parameter } = found
  const { name = kind, mechanism, [parameter]: given, ...others } = Object.fromEntries(url.searchParams)
  const destination = given ?? (kind === 'sqs' ? regionOf(url) : 'guiche.events')
  if (Object.keys(others).length > 0 || !/^[\w-]{1,64}$/.test(name)) return null
  if (!/^[\w-]+(?:\.[\w-]+)*$/.test(destination)) return null
  if (kind === 'sqs' && (url.username !== '' || !/^\/\d+\/[\w-]+(?:\.fifo)?$/.test(url.pathname))) return null
  // Kafka and NATS have no path: a topic that is written as one would be ignored.
  if ((kind === 'kafka' || kind === 'nats') && url.pathname.length > 1) return null
  const settings = { kind, name, url: text.replace(/\?.*$/s, ''), destination }
  if (mechanism === undefined) return settings
  const chosen = mechanisms.find((one) => one === mechanism)
  return kind === 'kafka' && chosen ? { ...settings, mechanism: chosen } : null
}

/** sqs.sa-east-1.amazonaws.com is in sa-east-1. Empty for another host: it has to be given. */
function regionOf({ hostname }: URL): string {
  return /^sqs\.([\w-]+)\.amazonaws\.com(?:\.cn)?$/.exec(hostname)?.[1] ?? ''
}
