import { phoneDigits } from '../lib/phone.ts'
import { toSearchText } from '../lib/text.ts'
import type { AccountHolder } from '../pix/holder.ts'
import type { StoredCustomer } from '../transactions/store.ts'
import type { Random } from './random.ts'

/** A person who buys: everything as text, ready to be written many times. */
export type Person = {
  customer: string
  searchName: string
  searchEmail: string
  document: string
  landlineDigits: string | null
  mobileDigits: string | null
  /** The account that it pays from. */
  payer: string
}

// The commonest first, as they are drawn: a search for "silva" finds many, one for "zanetti" few.
const firstNames =
  words(`Maria José Ana João Antônio Francisco Carlos Paulo Pedro Lucas Luiz Marcos Luís Gabriel Rafael Daniel
  Marcelo Bruno Eduardo Felipe Francisca Antônia Adriana Juliana Márcia Fernanda Patrícia Aline Sandra Camila Amanda Bruna Jéssica
  Letícia Júlia Luciana Vanessa Mariana Gabriela Vera Vitória Larissa Cláudia Beatriz Luana Rita Sônia Renata Eliane Simone Rosângela
  Otávio Thiago Vinícius Ícaro Raíssa Noêmia Zuleica`)
const surnames =
  words(`Silva Santos Oliveira Souza Rodrigues Ferreira Alves Pereira Lima Gomes Costa Ribeiro Martins Carvalho Almeida
  Lopes Soares Fernandes Vieira Barbosa Rocha Dias Nascimento Andrade Moreira Nunes Marques Machado Mendes Freitas Cardoso Ramos
  Gonçalves Santana Teixeira Araújo Conceição Moura Cavalcanti Brandão Assunção Guimarães Peçanha Quintão Simões Takahashi Weber
  Zanetti`)
const trades = words(
  'Comércio Distribuidora Padaria Livraria Oficina Farmácia Papelaria Confecções Eletrônica Mercearia',
)
const ispbs = words('00000000 00360305 60701190 60746948 90400888 18236120 00416968 31872495 10573521 13140088')
/** Area codes of cities: Brazil has others, and none of these is missing. */
const areaCodes = words('11 21 31 41 51 61 71 81 85 91 92 19 27 47 48 62')

export function makePerson(random: Random): Person {
  const isCompany = random.chance(0.06)
  const surname = common(random, surnames)
  const first = common(random, firstNames)
  const middle = random.chance(0.6) ? ` ${common(random, surnames)}` : ''
  const name = isCompany
    ? `${random.pick(trades)} ${surname} ${random.pick(['Ltda', 'ME', 'S.A.'])}`
    : `${first}${middle} ${surname}`
  const document = isCompany ? makeCnpj(random) : makeCpf(random)
  const area = random.pick(areaCodes)
  const mobile = `(${area}) 9${random.between(6, 9)}${random.digits(3)}-${random.digits(4)}`
  const landline = random.chance(0.1)
    ? `(${area}) ${random.between(2, 4)}${random.digits(3)}-${random.digits(4)}`
    : null
  const mailbox = `${toSearchText(first)}.${toSearchText(surname)}${random.between(1, 9999)}`
  const email = `${mailbox}@${random.pick(['example.com', 'example.org', 'example.net'])}`
  const hasMobile = random.chance(0.8)
  const customer: StoredCustomer = {
    name,
    document: { value: document, type: isCompany ? 'CNPJ' : 'CPF' },
    email,
    ...(landline !== null && { landline }),
    ...(hasMobile && { mobilePhone: mobile }),
    ...(random.chance(0.2) && {
      birthdate: `${random.between(1950, 2005)}-0${random.between(1, 9)}-1${random.below(10)}`,
    }),
  }
  const payer: AccountHolder = {
    type: isCompany ? 'PJ' : 'PF',
    name,
    document,
    bankAccount: {
      type: random.chance(0.8) ? 'CHECKING' : 'SAVINGS',
      branch: random.digits(4),
      number: random.digits(7),
      digit: random.digits(1),
      ispb: random.pick(ispbs),
    },
    pix: { key: document, type: isCompany ? 'CNPJ' : 'CPF' },
  }
  return {
    customer: JSON.stringify(customer),
    searchName: toSearchText(name),
    searchEmail: email,
    document,
    landlineDigits: landline === null ? null : phoneDigits(landline),
    mobileDigits: hasMobile ? phoneDigits(mobile) : null,
    payer: JSON.stringify(payer),
  }
}

export function makeCpf(random: Random): string {
  return withCheckDigits(random.digits(9), [
    [10, 9, 8, 7, 6, 5, 4, 3, 2],
    [11, 10, 9, 8, 7, 6, 5, 4, 3, 2],
  ])
}

export function makeCnpj(random: Random): string {
  return withCheckDigits(`${random.digits(8)}0001`, [
    [5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2],
    [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2],
  ])
}

function withCheckDigits(root: string, weights: number[][]): string {
  return weights.reduce((digits, factors) => {
    const sum = factors.reduce((total, factor, place) => total + factor * Number(digits[place]), 0)
    return digits + (sum % 11 < 2 ? 0 : 11 - (sum % 11))
  }, root)
}

const streets = words(
  'Flores Palmeiras Ipiranga Tiradentes Independência Consolação Amazonas Pinheiros Bandeirantes Laranjeiras',
)
const cities: readonly [readonly [string, string], ...(readonly [string, string])[]] = [
  ['São Paulo', 'SP'],
  ['Rio de Janeiro', 'RJ'],
  ['Belo Horizonte', 'MG'],
  ['Curitiba', 'PR'],
  ['Porto Alegre', 'RS'],
  ['Salvador', 'BA'],
  ['Recife', 'PE'],
  ['Fortaleza', 'CE'],
]

export function makeAddress(random: Random): string {
  const [city, state] = random.pick(cities)
  return JSON.stringify({
    zipCode: `${random.digits(5)}-${random.digits(3)}`,
    number: String(random.between(1, 2999)),
    street: `Rua ${random.pick(streets)}`,
    neighborhood: random.pick(['Centro', 'Jardim América', 'Vila Nova', 'Boa Vista']),
    city,
    state,
    country: 'Brasil',
  })
}

/** Of a list that begins with the commonest: the square of an even number lies near 0 more often than not. */
function common(random: Random, items: readonly [string, ...string[]]): string {
  return items[Math.floor(random.next() ** 2 * items.length)] ?? items[0]
}

function words(text: string): readonly [string, ...string[]] {
  const [first = '', ...others] = text.split(/\s+/)
  return [first, ...others]
}
