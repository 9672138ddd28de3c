import { expect, it } from 'vitest'
import { expiryEnd, isExpired } from './card-expiry.ts'

it.each([
  [{ month: 8, year: 2066 }, '2066-08-31T23:59:59.999Z'],
  [{ month: 12, year: 2027 }, '2027-12-31T23:59:59.999Z'],
  [{ month: 2, year: 2028 }, '2028-02-29T23:59:59.999Z'],
  [{ month: 2, year: 2100 }, '2100-02-28T23:59:59.999Z'],
])('expiryEnd of %j', (expiry, end) => {
  expect(expiryEnd(expiry).toISOString()).toBe(end)
})

it('isExpired: a card is good to the last millisecond of its month', () => {
  const end = expiryEnd({ month: 2, year: 2026 })
  expect(isExpired(end, new Date('2026-02-28T23:59:59.999Z'))).toBe(false)
  expect(isExpired(end, new Date('2026-03-01T00:00:00.000Z'))).toBe(true)
})
