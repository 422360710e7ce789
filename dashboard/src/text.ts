import { createContext, useContext } from 'react'

export const languages = ['en', 'pt'] as const
export type Language = (typeof languages)[number]

/** The texts of one place in both languages. The types require the same keys in both. */
export type Text<Words> = { en: Words; pt: NoInfer<Words> }

export function texts<Words>(words: Text<Words>): Text<Words> {
  return words
}

/** `1 payment`, `2 payments`: of a count that is already written as text. */
export function counted(count: string, one: string, many: string): string {
  return `${count} ${count === '1' ? one : many}`
}

const storageName = 'guiche-language'

/** The language that the user chose in this browser; otherwise Portuguese if the browser prefers it, else English. */
export function findLanguage(): Language {
  const chosen = localStorage.getItem(storageName)
  return languages.find((language) => language === chosen) ?? (navigator.language.startsWith('pt') ? 'pt' : 'en')
}

export function rememberLanguage(language: Language): void {
  localStorage.setItem(storageName, language)
}

export const LanguageContext = createContext<{ language: Language; choose: (language: Language) => void }>({
  language: 'en',
  choose: () => {},
})

export function useLanguage() {
  return useContext(LanguageContext)
}

const actors = texts({
  en: { operator: 'Operator', service: 'Guichê', atCommandLine: (name: string) => `${name} (command line)` },
  pt: { operator: 'Operador', service: 'Guichê', atCommandLine: (name: string) => `${name} (linha de comando)` },
})

/**
 * Who did something, from an actor of the API: `user:<address>`, `cli:<name>`, `operator` (what a merchant's users see
 * of the operator's staff) or `service`.
 */
export function nameActor(actor: string, language: Language): string {
  const t = actors[language]
  if (actor === 'operator' || actor === 'service') return t[actor]
  return actor.startsWith('cli:') ? t.atCommandLine(actor.slice('cli:'.length)) : actor.replace(/^user:/, '')
}

/** The texts in the chosen language. */
export function useText<Words>(text: Text<Words>): Words {
  return text[useLanguage().language]
}

/** {@link nameActor} in the chosen language. */
export function useActorName(): (actor: string) => string {
  const { language } = useLanguage()
  return (actor) => nameActor(actor, language)
}
