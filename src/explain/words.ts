/** A moment in UTC, to the second; the date only where it is another day than now. */
export function atTime(date: Date, now: Date): string {
  const [day, time] = date.toISOString().split('T')
  const seconds = time?.slice(0, 8) ?? ''
  return day === now.toISOString().slice(0, 10) ? seconds : `${day} ${seconds}`
}

/** What is late by more than this is not done by a service that runs. */
const lateMs = 60_000

/** `The acquirer is asked again at 12:00:05.` Or, when that moment has passed, that it has not been done. */
export function due(who: string, what: string, { at, now }: { at: Date | null; now: Date }): string {
  if (at === null) return ''
  if (now.getTime() - at.getTime() <= lateMs) return `${who} is ${what} at ${atTime(at, now)}.`
  return `${who} was to be ${what} at ${atTime(at, now)} and has not been: does the service run?`
}

/** Why nobody asks its acquirer, and what to do; empty where it can be asked. */
export function notAsked({ isConfigured, record }: { isConfigured: boolean; record: { acquirer: string } }): string {
  if (isConfigured) return ''
  return `Its acquirer ${record.acquirer} is not configured here, so nobody can ask it: configure it again, in no route if it is to get no more charges.`
}

/** Sentences in a row; those that are empty are left out. */
export function sentences(...parts: string[]): string {
  return parts.filter((part) => part !== '').join(' ')
}

/** Reasons come from elsewhere, with or without a full stop. */
export function withStop(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
