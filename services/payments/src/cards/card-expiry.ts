/** The month in which a card ends: `month` is 1 to 12. */
export interface CardExpiry {
  readonly month: number
  readonly year: number
}

/** The last millisecond of the month in UTC: 08/2066 is 2066-08-31T23:59:59.999Z. @see contract 7 */
export function expiryEnd({ month, year }: CardExpiry): Date {
  return new Date(Date.UTC(year, month, 1) - 1)
}

/** Whether a card that is good until `end` has expired at `now`. */
export function isExpired(end: Date, now: Date): boolean {
  return now.getTime() > end.getTime()
}
