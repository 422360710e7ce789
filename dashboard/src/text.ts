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

/** The texts in the chosen language. */
export function useText<Words>(text: Text<Words>): Words {
  return text[useLanguage().language]
}
