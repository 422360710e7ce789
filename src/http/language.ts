import Negotiator from 'negotiator'
import type { Language } from '../lib/alert-settings.ts'

/** The language that the browser prefers; `first` if it prefers neither. */
export function chooseLanguage(accepted: string | undefined, first: Language = 'pt'): Language {
  const languages: Language[] = first === 'pt' ? ['pt', 'en'] : ['en', 'pt']
  const chosen = new Negotiator({ headers: { 'accept-language': accepted } }).language(languages)
  return languages.find((language) => language === chosen) ?? first
}
