import { constants } from 'node:os'

type How = {
  json?: boolean | undefined
  /** What to show a person instead of the value, such as amounts in reais. */
  shown?: object | object[]
  /** A sentence for a person: what follows from the result. */
  note?: string | undefined
  /** What a person sees if a list has no rows. */
  empty?: string
}

/** Prints a command's result: a table and a note for a person, JSON for a program. */
export function print(value: object | object[], { json, shown = value, note, empty = 'none' }: How): void {
  if (json) write(`${toJson(value)}\n`)
  else write(`${Array.isArray(shown) ? toTable(shown, empty) : toLines(shown)}${note ? `\n${note}\n` : ''}`)
}

/** JSON with the characters that {@link toPlain} replaces as escapes: a program reads the value itself. */
function toJson(value: object): string {
  // Outside of strings there are only line breaks.
  return JSON.stringify(value, null, 2).replace(/[^\P{C}\n]/gu, (character) =>
    Array.from({ length: character.length }, (_, index) => {
      return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`
    }).join(''),
  )
}

let isWatched = false

export function write(text: string): void {
  if (!isWatched) process.stdout.once('error', endWithReader)
  isWatched = true
  process.stdout.write(text)
}

/** As for other programs: a reader that has enough, such as `head`, ends the command without a word. */
function endWithReader(error: NodeJS.ErrnoException): void {
  if (error.code === 'EPIPE') process.exit(128 + constants.signals.SIGPIPE)
  printError(error)
  process.exit(1)
}

/** Replaces control, format and private-use characters (`\p{C}`): text from merchants, banks and payers must not control a terminal. */
export function toPlain(text: string): string {
  return text.replace(/\p{C}/gu, '?')
}

export function printError(error: unknown): void {
  const message = error instanceof Error ? error.message : String(error)
  // A message may have several lines, and may quote an answer from the network.
  process.stderr.write(`guiche: ${message.replace(/[^\P{C}\n\t]/gu, '?')}\n`)
}

function toLines(value: object): string {
  const entries = Object.entries(value)
  const width = Math.max(...entries.map(([name]) => name.length))
  return `${entries.map(([name, member]) => `${name.padEnd(width)}  ${toCell(member)}`).join('\n')}\n`
}

function toTable(rows: object[], empty: string): string {
  const [first] = rows
  if (!first) return `${empty}\n`
  const names = Object.keys(first)
  const table = [names, ...rows.map((row) => Object.values(row).map(toCell))]
  const widths = names.map((_, column) => Math.max(...table.map((cells) => cells[column]?.length ?? 0)))
  return `${table
    .map((cells) =>
      cells
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')}\n`
}

function toCell(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (value instanceof Date) return value.toISOString()
  return toPlain(Array.isArray(value) ? value.join(' ') : String(value))
}
