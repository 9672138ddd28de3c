/** The month in which a card expires. `month` is 1 to 12, and `year` has four digits. */
export interface CardExpiry {
  readonly month: number
  readonly year: number
}

/** Returns the last day of the month in the stored format: 08/2066 is `2066-08-31`. */
export function lastDay({ month, year }: CardExpiry): string {
  return new Date(Date.UTC(year, month, 0)).toISOString().slice(0, 10)
}

/** Returns the last millisecond of a day in UTC, as answers show it: 2066-08-31T23:59:59.999Z (reference: Transaction object). */
export function lastInstant(day: string): Date {
  return new Date(`${day}T23:59:59.999Z`)
}

/** Returns whether a card has expired at `now`. @param day the last day on which the card is valid */
export function isExpired(day: string, now: Date): boolean {
  return now.getTime() > lastInstant(day).getTime()
}
