import { expect, it } from 'vitest'
import { isBankDay, nextBankDay } from './bank-days.ts'

it.each([
  ['a Sunday', '2026-03-01T10:00:00Z', 'UTC', '2026-03-02'],
  ['half past midnight in Copenhagen', '2026-03-02T23:30:00Z', 'Europe/Copenhagen', '2026-03-03'],
  ['half past midnight of a Saturday in Copenhagen', '2026-03-06T23:30:00Z', 'Europe/Copenhagen', '2026-03-09'],
  ['the evening before in New York', '2026-03-03T03:00:00Z', 'America/New_York', '2026-03-02'],
  ['a bank day', '2026-03-04T10:00:00Z', 'UTC', '2026-03-04'],
  ['Good Friday', '2026-04-03T10:00:00Z', 'UTC', '2026-04-07'],
  ['Good Friday of 2027', '2027-03-26T10:00:00Z', 'UTC', '2027-03-30'],
  ['Labour Day, a Friday', '2026-05-01T10:00:00Z', 'UTC', '2026-05-04'],
  ['Christmas, before a weekend', '2026-12-25T10:00:00Z', 'UTC', '2026-12-28'],
  ['New Year', '2026-12-31T23:00:00Z', 'Europe/Copenhagen', '2027-01-04'],
])('pays on %s (%s, %s) on %s', (_, moment, timeZone, day) => {
  expect(nextBankDay(new Date(moment), timeZone)).toBe(day)
})

// The closing days that are not weekends, from the calendar of the European Central Bank.
it.each([
  ['2026', ['01-01', '04-03', '04-06', '05-01', '12-25']],
  ['2027', ['01-01', '03-26', '03-29']],
  ['2028', ['04-14', '04-17', '05-01', '12-25', '12-26']],
  ['2029', ['01-01', '03-30', '04-02', '05-01', '12-25', '12-26']],
  ['2030', ['01-01', '04-19', '04-22', '05-01', '12-25', '12-26']],
  ['2038', ['01-01', '04-23', '04-26']],
])('closes in %s on holidays beside weekends', (year, closed) => {
  const from = { moment: new Date(0), timeZone: 'UTC' }
  const days = Array.from({ length: 365 }, (_, at) => new Date(Date.UTC(Number(year), 0, at + 1)))
  const weekdays = days.filter((day) => day.getUTCDay() % 6 !== 0).map((day) => day.toISOString().slice(0, 10))
  expect(weekdays.filter((day) => !isBankDay(day, from)).map((day) => day.slice(5))).toEqual(closed)
})

it.each([
  ['2026-03-02', true],
  ['2026-03-01', false],
  ['2026-02-27', false],
  ['2026-02-31', false],
  ['2026-3-02', false],
  ['2026-04-06', false],
  ['tomorrow', false],
])('takes %s as a day of execution from Sunday 1 March 2026 on: %s', (day, taken) => {
  expect(isBankDay(day, { moment: new Date('2026-03-01T12:00:00Z'), timeZone: 'UTC' })).toBe(taken)
})
