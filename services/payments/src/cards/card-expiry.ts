/** The month in which a card expires: `month` is 1 to 12, `year` has four digits. */
export interface CardExpiry {
  readonly month: number
  readonly year: number
}

/** The last day of the month, as it is stored: 08/2066 is 2066-08-31. */
export function lastDay({ month, year }: CardExpiry): string {
  return new Date(Date.UTC(year, month, 0)).toISOString().slice(0, 10)
}

/** The last millisecond of a day in UTC, as it is shown: 2066-08-31T23:59:59.999Z (reference: Transaction object). */
export function lastInstant(day: string): Date {
  return new Date(`${day}T23:59:59.999Z`)
}

/** Whether a card that is valid to the end of a day has expired at `now`. */
export function isExpired(day: string, now: Date): boolean {
  return now.getTime() > lastInstant(day).getTime()
}
