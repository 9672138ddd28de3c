/** The date on which the closing days of TARGET were last compared with the calendar of the European Central Bank. */
export const BANK_DAYS_AS_OF = '2026-11-29'

const DAY_MS = 86_400_000
const DATE = /^\d{4}-\d{2}-\d{2}$/

/**
 * Returns the first day, from a moment on, on which banks settle payments in euro: `2026-03-02`.
 * @param timeZone the time zone of the operator: `Europe/Copenhagen`
 * @see https://www.ecb.europa.eu/press/pr/date/2000/html/pr001214_4.en.html (closing days of TARGET, from 2002 on)
 */
export function nextBankDay(moment: Date, timeZone: string): string {
  let day = new Date(`${localDate(moment, timeZone)}T00:00:00Z`)
  while (!isOpen(day)) day = new Date(day.getTime() + DAY_MS)
  return day.toISOString().slice(0, 10)
}

/** Whether a text is a day on which banks settle, such as `2026-03-02`, and not before the local day of `from`. */
export function isBankDay(text: string, from: { readonly moment: Date; readonly timeZone: string }): boolean {
  const day = new Date(`${text}T00:00:00Z`)
  if (!DATE.test(text) || Number.isNaN(day.getTime()) || day.toISOString().slice(0, 10) !== text) return false
  return isOpen(day) && text >= localDate(from.moment, from.timeZone)
}

function localDate(moment: Date, timeZone: string): string {
  const parts = new Intl.DateTimeFormat('en', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' })
  const part = Object.fromEntries(parts.formatToParts(moment).map(({ type, value }) => [type, value]))
  return `${part.year}-${part.month}-${part.day}`
}

/** Closed: weekends, 1 January, Good Friday, Easter Monday, 1 May, 25 and 26 December. No closing day is moved. */
function isOpen(day: Date): boolean {
  const weekday = day.getUTCDay()
  const fromEaster = (day.getTime() - easterOf(day.getUTCFullYear())) / DAY_MS
  const isHoliday = ['01-01', '05-01', '12-25', '12-26'].includes(day.toISOString().slice(5, 10))
  return weekday !== 0 && weekday !== 6 && !isHoliday && fromEaster !== -2 && fromEaster !== 1
}

/** Returns Easter Sunday of the western churches, in milliseconds since 1970 (the method of Gauss for the Gregorian calendar). */
function easterOf(year: number): number {
  const golden = year % 19
  const century = Math.floor(year / 100)
  const epact = (century - Math.floor(century / 4) - Math.floor((8 * century + 13) / 25) + 19 * golden + 15) % 30
  const moon = epact - Math.floor(epact / 28) * (1 - Math.floor(29 / (epact + 1)) * Math.floor((21 - golden) / 11))
  const weekday = (year + Math.floor(year / 4) + moon + 2 - century + Math.floor(century / 4)) % 7
  const offset = moon - weekday
  const month = 3 + Math.floor((offset + 40) / 44)
  return Date.UTC(year, month - 1, offset + 28 - 31 * Math.floor(month / 4))
}
