import type { Language } from '../lib/alert-settings.ts'
import type { Delivery } from './schema.ts'

const words = {
  en: {
    kind: 'Delivery',
    kinds: { goods: 'goods', digital: 'digital product or access', service: 'service' },
    carrier: 'Carrier',
    trackingCode: 'Tracking code',
    deliveredOn: { goods: 'Delivered on', digital: 'Access given on', service: 'Performed on' },
    receivedBy: 'Received by',
    invoice: 'Tax invoice',
  },
  pt: {
    kind: 'Entrega',
    kinds: { goods: 'produto físico', digital: 'produto digital ou acesso', service: 'serviço' },
    carrier: 'Transportadora',
    trackingCode: 'Código de rastreio',
    deliveredOn: { goods: 'Entregue em', digital: 'Acesso liberado em', service: 'Serviço prestado em' },
    receivedBy: 'Recebido por',
    invoice: 'Nota fiscal',
  },
}

/** What is known about the delivery, as pairs of a name and a value. */
export function toDeliveryFacts(delivery: Delivery, language: Language): [name: string, value: string][] {
  const t = words[language]
  const { kind, carrier, trackingCode, deliveredOn, receivedBy, invoice } = delivery
  const facts: [string, string][] = [
    [t.kind, kind === null ? '' : t.kinds[kind]],
    [t.carrier, carrier],
    [t.trackingCode, trackingCode],
    [t.deliveredOn[kind ?? 'goods'], toDay(deliveredOn, language)],
    [t.receivedBy, receivedBy],
    [t.invoice, invoice],
  ]
  return facts.map(([name, value]): [string, string] => [name, value.trim()]).filter(([, value]) => value !== '')
}

function toDay(day: string, language: Language): string {
  return language === 'pt' ? day.split('-').reverse().join('/') : day
}

/** A PSP has one field for all of it, and its analysts read Portuguese. */
export function toSentText(text: string, delivery: Delivery): string {
  const facts = toDeliveryFacts(delivery, 'pt').map(([name, value]) => `${name}: ${value}`)
  return [text.trim(), facts.join('\n')].filter((part) => part !== '').join('\n\n')
}
