import fc from 'fast-check'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { toDate, toRfc3339 } from './open-server.ts'

describe('toRfc3339', () => {
  it.each([
    ['2026-01-02 03:04:05.123456+00', '2026-01-02T03:04:05.123456+00:00'],
    ['2026-01-02 03:04:05.12+00', '2026-01-02T03:04:05.120000+00:00'],
    ['2026-01-02 03:04:05+00', '2026-01-02T03:04:05.000000+00:00'],
    ['2026-01-02T03:04:05.123456+00:00', '2026-01-02T03:04:05.123456+00:00'],
    ['2026-01-02T03:04:05.1+00:00', '2026-01-02T03:04:05.100000+00:00'],
    ['2026-01-02T03:04:05+00:00', '2026-01-02T03:04:05.000000+00:00'],
    ['infinity', '9999-12-31T23:59:59.999999+00:00'],
    ['12026-01-02 03:04:05+00', '9999-12-31T23:59:59.999999+00:00'],
    ['12026-01-02T03:04:05.1+00:00', '9999-12-31T23:59:59.999999+00:00'],
    ['-infinity', '0001-01-01T00:00:00.000000+00:00'],
    ['0044-03-15 12:00:00+00 BC', '0001-01-01T00:00:00.000000+00:00'],
    ['10044-03-15T12:00:00+00:00 BC', '0001-01-01T00:00:00.000000+00:00'],
  ])('converts %s to the text %s of RFC 3339', (text, expected) => {
    expect(toRfc3339(text)).toBe(expected)
  })
})

describe('toDate', () => {
  const pgsOwn = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ)

  it.each([
    ['2026-01-02 03:04:05.123456+00', '2026-01-02T03:04:05.123Z'],
    ['2026-01-02 03:04:05.1+00', '2026-01-02T03:04:05.100Z'],
    ['2026-01-02 03:04:05+00', '2026-01-02T03:04:05.000Z'],
    ['2026-01-02 05:04:05+02', '2026-01-02T03:04:05.000Z'],
    ['2026-01-02 03:04:05.123456+05:30', '2026-01-01T21:34:05.123Z'],
    ['12026-01-02 03:04:05+00', '+012026-01-02T03:04:05.000Z'],
    ['0044-03-15 12:00:00+00 BC', '-000043-03-15T12:00:00.000Z'],
  ])('converts %s to the moment %s', (text, expected) => {
    expect(toDate(text).toISOString()).toBe(expected)
  })

  it('reads infinity and -infinity as the numbers, which no Date can hold', () => {
    expect([toDate('infinity'), toDate('-infinity')]).toEqual([Infinity, -Infinity])
  })

  it("returns what pg's own parser returns", () => {
    const instant = fc.date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T00:00:00Z'),
      noInvalidDate: true,
    })
    fc.assert(
      fc.property(instant, fc.stringMatching(/^(\.\d{1,6})?$/), (date, fraction) => {
        const text = `${date.toISOString().slice(0, 19).replace('T', ' ')}${fraction}+00`
        expect(toDate(text)).toEqual(pgsOwn(text))
      }),
    )
  })
})
