/** The source of the current time. Tests pass a clock that they move. */
export type Clock = { now(): Date }

export const systemClock: Clock = { now: () => new Date() }
