import { newUuid } from './secrets.ts'

/**
 * A cell is a whole installation of its own, with its merchants, PSP accounts and database (docs/scaling.md). What it
 * issues carries its name at a fixed place, so that a proxy can route by comparing a few characters:
 *
 * | what | where | cell `a` |
 * |---|---|---|
 * | ids, hence txids | first 6 hex digits, which are the name in base64url; 5 others are constant | `6bffffce-…-4ce1-…` |
 * | payment pages | the token begins with the id, in base64url, so it begins with the name | `/pay/a___…` |
 * | client ids | after `gc_` | `gc_a_…` |
 * | addresses of callbacks | before the secret | `/callbacks/<acquirer>/a.…` |
 * | payment links | before the address that the merchant chose, or a random one | `/l/a.…` |
 * | access tokens | the header begins with the key's id, which begins with the name | `{"kid":"a.…` in base64url |
 */
export type Cell = string

/** base64url has lowercase letters and digits, so a name of four characters is three bytes. */
const nameLength = 4
const filler = '_'
/** No other system sets these 20 bits on purpose: a random UUID looks like an id of a cell once in 10 million. */
const idShape = /^([\da-f]{6})ce-[\da-f]{4}-4ce1-[89ab][\da-f]{3}-[\da-f]{12}$/

export function isCellName(text: string): boolean {
  return /^[a-z\d]{1,4}$/.test(text)
}

export type CellAddress = { cell: Cell; address: string }

/** Reads `a=https://a.example.com,b=https://b.example.com`. Null if it is not that, or names a cell twice. */
export function parseCells(text: string): CellAddress[] | null {
  const pairs = text.split(',').flatMap((part) => part.trim() || [])
  const cells = pairs.map((pair) => {
    const [cell = '', ...rest] = pair.split('=')
    return { cell, address: rest.join('=').replace(/\/+$/, '') }
  })
  const isAddress = (text: string) => /^https?:\/\/[^?#\s]+$/.test(text) && URL.canParse(text)
  const isValid = cells.every(({ cell, address }) => isCellName(cell) && isAddress(address))
  return isValid && new Set(cells.map(({ cell }) => cell)).size === cells.length ? cells : null
}

/** Like {@link newUuid}, but it carries the cell, if there is one: then 78 bits are random or come from `from`. */
export function newIdIn(cell: Cell | null, from?: Buffer): string {
  const uuid = newUuid(from)
  return cell === null ? uuid : `${idPrefix(cell)}ce-${uuid.slice(9, 13)}-4ce1-${uuid.slice(19)}`
}

/** The cell that an id carries; null if it carries none. */
export function cellOfId(id: string): Cell | null {
  const digits = idShape.exec(id)?.[1]
  if (digits === undefined) return null
  const name = Buffer.from(digits, 'hex').toString('base64url')
  return /^([a-z\d]{1,4})_*$/.exec(name)?.[1] ?? null
}

/** Whether an id carries another cell than this one. An installation that is no cell knows no others. */
export function isOfOtherCell(cell: Cell | null, id: string | null): id is string {
  if (cell === null || id === null) return false
  const carried = cellOfId(id)
  return carried !== null && carried !== cell
}

/** What the values that a cell gives out begin with, for the configuration of proxies. */
export function prefixesOf(cell: Cell) {
  return {
    id: idPrefix(cell),
    paymentPage: pad(cell),
    clientId: clientIdPrefix(cell),
    accessToken: tokenPrefix(cell),
    callback: callbackPrefix(cell),
    paymentLink: linkPrefix(cell),
  }
}

const idPrefixes = new Map<Cell, string>()

function idPrefix(cell: Cell): string {
  const known = idPrefixes.get(cell)
  if (known !== undefined) return known
  const made = Buffer.from(pad(cell), 'base64url').toString('hex')
  idPrefixes.set(cell, made)
  return made
}

function pad(cell: Cell): string {
  return cell.padEnd(nameLength, filler)
}

export function clientIdPrefix(cell: Cell | null): string {
  return cell === null ? 'gc_' : `gc_${cell}_`
}

export function callbackPrefix(cell: Cell | null): string {
  return cell === null ? '' : `${cell}.`
}

export function linkPrefix(cell: Cell | null): string {
  return cell === null ? '' : `${cell}.`
}

/** The id of a signing key begins with it. */
export function keyIdPrefix(cell: Cell | null): string {
  return cell === null ? '' : `${cell}.`
}

/**
 * Only characters that depend on nothing after the prefix: the last ones of a text in base64 depend on what follows.
 */
function tokenPrefix(cell: Cell): string {
  const bytes = Buffer.from(`{"kid":"${keyIdPrefix(cell)}`)
  return bytes.toString('base64url').slice(0, Math.floor((bytes.length * 8) / 6))
}
