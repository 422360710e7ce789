import { writeReasonSentence } from '../reason-texts.ts'
import { useLanguage } from '../text.ts'
import type { Reason } from '../types.ts'

/** Why something failed, in the chosen language; in its own words if a PSP or a person wrote it. */
export function ReasonText({ of }: { of: Reason }) {
  return writeReasonSentence(of, useLanguage().language)
}
