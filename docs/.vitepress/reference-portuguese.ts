import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The texts of the OpenAPI document in Portuguese, by the English text without its scope. */
export const portugueseTexts: Record<string, string> = JSON.parse(
  readFileSync(join(import.meta.dirname, 'portuguese-texts.json'), 'utf8'),
)

/** The English text where the table has none: a test finds it, and readers need the page even so. */
export function toPortuguese(text: string): string {
  const { about, scope } = splitScope(text)
  const translated = portugueseTexts[about] ?? about
  return scope === null ? translated : `${translated} Escopo: ${scope}.`
}

/** The description of an operation ends with the scope that it needs. */
export function splitScope(text: string): { about: string; scope: string | null } {
  const [, about = text, scope = null] = /^(.*) Scope: (`\S+`)\.$/s.exec(text) ?? []
  return { about, scope }
}
