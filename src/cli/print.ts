type How = {
  json?: boolean | undefined
  /** What a person is shown in place of the value: amounts in reais, for instance. */
  shown?: object | object[]
  /** For a person: what follows from it. */
  note?: string | undefined
  /** What a person is told of a list that has no rows. */
  empty?: string
}

/** The one way in which the command line writes: rows for a person, with a note of what follows from them; JSON for a program. */
export function print(value: object | object[], { json, shown = value, note, empty = 'none' }: How): void {
  if (json) write(`${JSON.stringify(value, null, 2)}\n`)
  else write(`${Array.isArray(shown) ? toTable(shown, empty) : toLines(shown)}${note ? `\n${note}\n` : ''}`)
}

export function write(text: string): void {
  process.stdout.write(text)
}

/** What shops, banks and payers wrote may not steer a terminal. */
export function toPlain(text: string): string {
  return text.replace(/\p{C}/gu, '?')
}

export function printError(error: unknown): void {
  process.stderr.write(`guiche: ${error instanceof Error ? error.message : String(error)}\n`)
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
  return Array.isArray(value) ? value.join(' ') : String(value)
}
