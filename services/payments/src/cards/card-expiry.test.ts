import { expect, it } from 'vitest'
import { isExpired, lastDay, lastInstant } from './card-expiry.ts'

it.each([
  [{ month: 8, year: 2066 }, '2066-08-31', '2066-08-31T23:59:59.999Z'],
  [{ month: 12, year: 2027 }, '2027-12-31', '2027-12-31T23:59:59.999Z'],
  [{ month: 2, year: 2028 }, '2028-02-29', '2028-02-29T23:59:59.999Z'],
  [{ month: 2, year: 2100 }, '2100-02-28', '2100-02-28T23:59:59.999Z'],
])('%j ends on %s', (expiry, day, instant) => {
  expect(lastDay(expiry)).toBe(day)
  expect(lastInstant(day).toISOString()).toBe(instant)
})

it('isExpired: a card is valid to the last millisecond of its month', () => {
  expect(isExpired('2026-02-28', new Date('2026-02-28T23:59:59.999Z'))).toBe(false)
  expect(isExpired('2026-02-28', new Date('2026-03-01T00:00:00.000Z'))).toBe(true)
})
