import { numberMark } from './load/job.ts'

/**
 * The body of a create with nearly all optional fields, so that its row takes about 1.3 kB. No two bodies are equal:
 * the load generator replaces `numberMark` by a new number in each request; customer, amount and item follow the index.
 */
export function toOrder(index: number, webhookUrl?: string) {
  const name = `${pick(firstNames, index)} ${pick(lastNames, index * 7)} ${pick(lastNames, index * 3 + 1)}`
  const unitPrice = 990 + ((index * 137) % 20_000)
  return {
    amount: unitPrice * 2,
    paymentMethod: 'PIX',
    ...(webhookUrl !== undefined && { webhookUrl }),
    externalCode: `order-${numberMark}`,
    idempotencyKey: `order-${numberMark}-first-try`,
    customer: {
      ip: `203.0.113.${index % 250}`,
      name,
      document: toCpf(index),
      email: `${toAscii(name).toLowerCase().replaceAll(' ', '.')}.${index}@example.com`,
      mobilePhone: `(11) 9${String(80_000_000 + index)}`,
      birthdate: '1990-12-31',
    },
    seller: { name: 'Loja & Cia.', document: '11.222.333/0001-81' },
    isInfoProduct: false,
    address: {
      zipCode: '01310-100',
      complement: 'Apto 12, Bloco B',
      number: String(1 + (index % 3000)),
      street: 'Avenida Paulista',
      neighborhood: 'Bela Vista',
      city: 'São Paulo',
      state: 'SP',
      country: 'Brasil',
    },
    items: [
      { title: pick(goods, index), description: 'Pacote de 500 g, moagem média', unitPrice, quantity: 1 },
      { title: pick(goods, index + 1), description: 'Pacote de 250 g', unitPrice, quantity: 1 },
    ],
    metadata: { cart: `8812-${index}`, campaign: 'primavera-2026', channel: 'app', tags: ['novo', 'cupom-10'] },
    pix: { expirationSeconds: 3600 },
  }
}

/** A unique CPF for every number below 8 × 10^8; all but eight are valid. */
function toCpf(index: number): string {
  const digits = String(100_000_000 + ((index * 7919) % 800_000_000))
    .split('')
    .map(Number)
  for (const length of [9, 10]) {
    const sum = digits.slice(0, length).reduce((total, digit, place) => total + digit * (length + 1 - place), 0)
    digits.push(((sum * 10) % 11) % 10)
  }
  return digits.join('')
}

function toAscii(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '')
}

function pick(texts: string[], index: number): string {
  return texts[index % texts.length] ?? ''
}

const firstNames = [
  'Maria',
  'João',
  'Ana',
  'José',
  'Antônia',
  'Francisco',
  'Luíza',
  'Carlos',
  'Beatriz',
  'Paulo',
  'Márcia',
]
const lastNames = [
  'da Silva',
  'Santos',
  'Oliveira',
  'Souza',
  'Pereira',
  'Lima',
  'Carvalho',
  'Araújo',
  'Gonçalves',
  'Rocha',
]
const goods = [
  'Café torrado',
  'Filtro de papel',
  'Caneca esmaltada',
  'Moedor manual',
  'Garrafa térmica',
  'Coador de pano',
]
